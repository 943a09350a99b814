"""The interfaces between planner, membership and brokers.

One implementation per protocol. The planner never learns what a fence is made of: it puts it into
the plan, and hands the plan back after a crash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pyspark_zkgroup.model import (
    BrokerMember,
    CommitRefused,
    Fence,
    LogEnd,
    Sample,
    StoredOffset,
    TopicPartition,
)
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.ranges.gaps import Gap


class Position(NamedTuple):
    """A partition that is held: the next record to read, by which thread, under which fence."""

    start: int
    thread: int
    fence: Fence


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the member stands after a boundary. `waiting` says for each partition for whom, or for
    what. `settled`: all that is ours is held. `expected`: why more may become ours before long, for
    a job that would end too early without it. `ended`: by whose request the query is to end; all it
    has read is committed then, and it has left the group. `withheld`: held, but not read before
    it is known where their new logs begin.
    """

    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    withheld: Collection[TopicPartition] = ()
    waiting: Mapping[TopicPartition, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settled: bool = True
    expected: str = ""
    ended: str = ""


class Membership(Protocol):
    protocol: str

    @property
    def losses(self) -> Losses: ...

    @property
    def member(self) -> str:
        """The consumer id of this member; known before it has joined."""

    def resume(self, plan: Plan) -> None:
        """A restart whose last batch is finished: what `plan` read is done, and to be settled."""

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        """A restart whose last batch is not finished: the partitions whose range is read again."""

    @property
    def unsettled(self) -> bool:
        """Whether finished work is still to be committed."""

    def stirred(self) -> bool:
        """Whether the next boundary has anything to do; False costs nothing."""

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        """Commit `done`, look at the group, release what must move, claim what is free."""

    def prove(self) -> bool:
        """The last request before a plan: everything held is still ours. If not, the boundary
        begins again.
        """

    def touched(self) -> bool:
        """Asked where nothing is planned, so nothing proved: another client has set an offset of
        what was held, and another boundary is due. Costs nothing as long as none does.
        """

    def vouches(self) -> bool:
        """Whether positions are the group's offsets for certain, where a loss would end the query:
        what a member only believes to hold, others may have read on, and it may be gone by then.
        """

    def skip(self, found: Collection[Gap]) -> None:
        """Records that are gone: the error that ends the query, or, where losses are allowed, the
        position moves behind them, and the next boundary commits it.
        """

    def give_up(self) -> int:
        """End all claims at once, and say how many there were; the next boundary joins again. Comes
        from another thread, and only between two calls.
        """

    def subscribed(self) -> Collection[TopicPartition]:
        """All partitions of the own subscription, whichever member reads them."""

    def wait(self, timeout_s: float) -> None:
        """Until something happens in the group, or the time is up."""

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        """Commit what is proved `done` and leave the group at once. May be called at any time, and
        twice.
        """

    def status(self) -> dict[str, Any]:
        """For the progress: member, waiting, what the group looks like. JSON values only."""


class Brokers(Protocol):
    """Kafka as a membership needs it. Every call has its own deadline and raises ServerError."""

    def found(self, addresses: Collection[str]) -> None:
        """Brokers that registered in ZooKeeper; used where no kafka.bootstrap.servers are given."""

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        """All topics with their partitions, from Kafka itself. What was there stays in it until
        it has been missing for some seconds, and a second broker says so too.
        """

    def lacks(self, held: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, bool]:
        """Those of these that the cluster does not have: True; False while it is too early to
        tell. A topic with another id than the one given, if one is given, is not the one held.
        """

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]: ...

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Up to where there is something to read; under read_committed, before the first open
        transaction.
        """

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogEnd]:
        """As `latest`, each with the log that it is of."""

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Where the records of these leader epochs and of all before end, in the logs as they are
        now; None where the leader cannot tell. Partitions without an answer are left out.
        """

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where the logs end, whatever the isolation."""

    def samples(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Sample]:
        """How large the records are at these offsets. Those asked for first are sure of an answer;
        others may be left out.
        """

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """The first offset whose record has this time (in milliseconds) or a later one; None where
        there is none up to the latest.
        """


class OffsetsInKafka(Protocol):
    """The group's offsets where brokers keep them. As for Brokers: deadlines, and ServerError."""

    def group_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        """The group's offsets in Kafka; a partition without one is left out."""

    def commit_group_offsets(
        self, offsets: Mapping[TopicPartition, int], note: str, *, timeout_s: float
    ) -> Mapping[TopicPartition, CommitRefused]:
        """Stores them in Kafka, with the note; what was not taken comes back."""

    def group_members(self, *, timeout_s: float) -> Collection[BrokerMember]:
        """Consumers in a group of the same name that the brokers coordinate."""

    def live_namesakes(self, *, timeout_s: float) -> Collection[BrokerMember]:
        """The same, asked so that nothing comes into being on the brokers."""
