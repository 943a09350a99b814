"""A group as commands show it: its members, its partitions, and notes about them.

Made by report.py of a group in ZooKeeper, and by brokered.py of one that the brokers coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.model import BrokeredGroup, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.incumbent import Incumbent

State = Literal["owned", "moving", "free", "stuck", "unread"]
Protocol = Literal["zookeeper", "coordinator", "light", "kafka"]
GroupProtocol = Literal["zookeeper", "coordinator", "both", "kafka"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A partition that a member is to get, and its owner: a thread, or a member (`by_member`)."""

    partition: TopicPartition
    owner: str
    by_member: bool = False

    @property
    def member(self) -> str:
        return self.owner if self.by_member else consumer_of(self.owner)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """`trouble` is why it cannot be assigned anything; then what it asks for is not known.

    `generation` is the newest decision of a coordinator about it that is to be seen; `unanswered`,
    how many commands it has not followed yet, is known of members of `coordinator`. `waiting` is
    None where the rule by which the group is assigned is not known.

    Members in ZooKeeper have a session and a time of joining, those of a group that the brokers
    coordinate a client id and a host.
    """

    consumer: str
    kind: Literal["zkgroup", "jvm", "consumer", "unreadable"]
    session: int | None
    since_ms: int | None
    owns: int
    threads: int = 0
    pattern: str = ""
    subscription: Mapping[str, int] = field(default_factory=dict)
    strategy: str | None = None
    order: str | None = None
    static: bool = False
    trouble: str | None = None
    protocol: Protocol | None = None
    generation: Generation | None = None
    unanswered: int | None = None
    waiting: tuple[Waiting, ...] | None = None
    client: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """`state`: owned: by its target; moving: owned by another member, or wanted by none any more;
    free: it has no owner yet; stuck: its owner is not registered; unread: no member wants it.
    `committed_ms`: when its offset was last written, by a commit or a claim. `undecided`: why it is
    not known which member should own it, or why none should, though members read it. `by_member`:
    `owner` and `wanted_by` name members, as the brokers' coordinators know no threads.
    """

    partition: TopicPartition
    state: State
    owner: str | None
    since_ms: int | None
    wanted_by: str | None
    committed: int | None
    end: int | None
    trouble: str | None = None
    committed_ms: int | None = None
    undecided: str | None = None
    by_member: bool = False

    @property
    def lag(self) -> int | None:
        """As every lag tool counts it; unknown without a committed offset or an end."""
        if self.committed is None or self.end is None or self.committed < 0:
            return None
        return max(0, self.end - self.committed)

    @property
    def member(self) -> str | None:
        return self._member(self.owner)

    @property
    def wanted_member(self) -> str | None:
        return self._member(self.wanted_by)

    def _member(self, name: str | None) -> str | None:
        return name if name is None or self.by_member else consumer_of(name)


@dataclass(frozen=True, slots=True)
class GroupReport:
    """`protocol` is None where there is no member. `generation`: the newest that is to be seen.
    `faults` are those of the notes that `group_findings` tells at length. `brokered`: a group that
    the brokers coordinate, as its coordinator describes it.
    """

    group: str
    members: tuple[MemberRow, ...]
    partitions: tuple[PartitionRow, ...]
    notes: tuple[str, ...]
    protocol: GroupProtocol | None = None
    coordinator: Incumbent | None = None
    faults: tuple[str, ...] = ()
    brokered: BrokeredGroup | None = None

    def noted(self, notes: tuple[str, ...]) -> GroupReport:
        """Return this report with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def generation(self) -> Generation | None:
        found = [member.generation for member in self.members if member.generation is not None]
        return max(found, default=None)

    @property
    def lag(self) -> int:
        """Of the partitions whose lag is known."""
        return sum(row.lag or 0 for row in self.partitions)

    @property
    def unknown_lags(self) -> int:
        return sum(row.lag is None for row in self.partitions)
