"""A group that was looked at once or twice, and one thing that is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.inspect.age import age, clock_time
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.inspect.rows import GroupReport, MemberRow, PartitionRow
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import BrokeredGroup, TopicPartition

_NAMED = 5


@dataclass(frozen=True, slots=True)
class GroupFinding:
    """`thing` is what it concerns. `is_ill` is False if the state may be intentional."""

    thing: str
    text: str
    remedy: str
    is_ill: bool = True
    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class Look:
    """`starts` of the logs, as far as they are known; `at_ms` by the clock of who looks. Of a group
    that the brokers coordinate `facts` has only the topics: it has no nodes.
    """

    facts: GroupFacts
    seen: GroupReport
    starts: Mapping[TopicPartition, int]
    at_ms: float


@dataclass(frozen=True)
class Case:
    """`first` is `last` where it was looked at once. `between`: a group that the brokers coordinate
    as it was described meanwhile.
    """

    first: Look
    last: Look
    between: tuple[BrokeredGroup, ...] = ()

    @property
    def apart_s(self) -> float:
        return (self.last.at_ms - self.first.at_ms) / 1000

    @property
    def paths(self) -> GroupPaths:
        return GroupPaths(self.last.seen.group)

    @property
    def brokered(self) -> tuple[BrokeredGroup, ...]:
        """In the order in which it was seen."""
        ends = (self.first.seen.brokered, *self.between, self.last.seen.brokered)
        seen = tuple(group for group in ends if group is not None)
        return seen[:1] if self.first is self.last else seen

    @cached_property
    def before(self) -> dict[TopicPartition, PartitionRow]:
        return {row.partition: row for row in self.first.seen.partitions}

    @cached_property
    def kinds(self) -> dict[str, str]:
        return {member.consumer: member.kind for member in self.last.seen.members}

    @cached_property
    def is_headless(self) -> bool:
        """Whether its members need a coordinator, and there is none."""
        return bool(self.last.facts.told) and self.last.seen.coordinator is None

    def rows_of(self, consumer: str) -> list[PartitionRow]:
        return [row for row in self.last.seen.partitions if row.member == consumer]

    def waiting_for(self, consumer: str) -> list[str]:
        return [
            member.consumer
            for member in self.last.seen.members
            if any(waits.member == consumer for waits in member.waiting or ())
        ]

    def lasting(self, ms: float) -> str:
        """How long, and since when: to be found again in logs."""
        return f"{age(self.last.at_ms - ms)} (since {clock_time(ms)})"

    def ago(self, ms: float) -> str:
        return f"{age(self.last.at_ms - ms)} ago ({clock_time(ms)})"


def named(things: Iterable[object]) -> str:
    """Return the first few, and how many more there are."""
    return first_few(things, _NAMED)


def partitions_of(rows: Collection[PartitionRow]) -> frozenset[TopicPartition]:
    return frozenset(row.partition for row in rows)


def has_nothing(member: MemberRow) -> bool:
    return not member.owns and not member.waiting
