"""What a chaos run has seen, as values: its judges are functions of these alone.

Times are in seconds since 1970, by the clock of the one machine on which everything runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.model import TopicPartition

FOREVER = float("inf")


@dataclass(frozen=True)
class Fault:
    """`members`: those it hit, by name. `hard`: it may repeat a batch of theirs that was in flight;
    with `batches`, (member, number), of these alone. `ends_claims`: it takes longer than a session
    lives, or is permanent; claims may outlive it by `grace_s`. `calm`: no claim may end while it
    lasts. `stops_jvm`: the JVM was suspended. `injected`: made by the run; otherwise it was
    found in a member's log. `over`: when the group had settled, or was no longer waited for.
    """

    number: int
    kind: str
    target: str
    at: float
    until: float
    members: tuple[str, ...] = ()
    hard: bool = False
    ends_claims: bool = False
    grace_s: float = 0.0
    calm: bool = False
    stops_jvm: bool = False
    batches: tuple[tuple[str, int], ...] | None = None
    injected: bool = True
    healed: float = 0.0
    settled: bool = True
    detail: str = ""
    over: float = 0.0

    def overlaps(self, other: Fault) -> bool:
        """Whether one began before the group had settled after the other."""
        return self.number != other.number and self.at < other.over and other.at < self.over


@dataclass(frozen=True)
class Batch:
    """One delivery of one batch to the plain log. In flight from `began` until `committed`: then
    its member was seen to have committed its end, or never (infinite). `asked`: when the trigger
    began in which it was planned, as far as Spark has reported it.
    """

    member: str
    number: int
    began: float
    delivered: float
    committed: float
    asked: float | None = None


@dataclass(frozen=True)
class Read:
    """Records `start` to `until` of a partition, read in that delivery."""

    partition: TopicPartition
    start: int
    until: int
    batch: Batch


@dataclass(frozen=True)
class Duplicate:
    """Records that came more than once: `extra` says how many deliveries were too many, `reads`
    all of them in their order. `faults`: by which each delivery too many is explained; fewer than
    `extra` means that it is not.
    """

    partition: TopicPartition
    start: int
    until: int
    reads: tuple[Batch, ...]
    faults: tuple[tuple[Batch, Fault], ...]

    @property
    def count(self) -> int:
        return self.until - self.start

    @property
    def extra(self) -> int:
        return len(self.reads) - 1

    @property
    def explained(self) -> bool:
        return len(self.faults) >= self.extra


@dataclass(frozen=True)
class Tenure:
    """One owner node's life. `gone`: when it was first seen to be gone, infinite where it was not;
    `seen`: when it was last seen.
    """

    partition: TopicPartition
    consumer: str
    life: int
    since: float
    seen: float
    gone: float = FOREVER


@dataclass(frozen=True)
class Membership:
    """Who was registered, by consumer ids: from the look that showed it first to the next such."""

    at: float
    consumers: frozenset[str]


@dataclass(frozen=True)
class Trigger:
    """One trigger of a member's query: from its boundary until its batch was finished or, where
    that is `cut_short`, until the query ended in it. `boundary_s`: how long the boundary took.
    """

    member: str
    began: float
    seconds: float
    boundary_s: float = 0.0
    cut_short: bool = False

    @property
    def until(self) -> float:
        return self.began + self.seconds


@dataclass(frozen=True)
class Span:
    start: float
    until: float

    @property
    def seconds(self) -> float:
        return self.until - self.start

    def shared(self, other: Span) -> float:
        return max(0.0, min(self.until, other.until) - max(self.start, other.start))


@dataclass(frozen=True)
class Right:
    """A partition was this member's by the group's assignor; "": no member was registered. `since`
    and `gone`: the life of the registration from which that follows.
    """

    consumer: str
    span: Span
    since: float = 0.0
    gone: float = FOREVER


@dataclass(frozen=True)
class Wait:
    """The part of a gap in which the partition was `member`'s, and how much of it is granted."""

    member: str
    span: Span
    granted_s: float


@dataclass(frozen=True)
class Unowned:
    """No living member owned the partition. `fault`: the one that ended the claim before.
    `batch_s`: what is granted for `waits` all together.
    """

    partition: TopicPartition
    start: float
    until: float
    bound_s: float
    batch_s: float
    before: str
    after: str
    fault: Fault | None = None
    waits: tuple[Wait, ...] = ()

    @property
    def seconds(self) -> float:
        return self.until - self.start

    @property
    def within_bound(self) -> bool:
        return self.seconds <= self.bound_s
