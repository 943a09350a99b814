"""A group in one line of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.inspect.report import GroupFacts, stuck
from pyspark_zkgroup.model import BrokeredGroup, StoredOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """`committed` has each partition that is owned or has an offset; `owned` is None while a
    coordinator does not tell it, `lag` where the end of a log or an offset is not known.
    """

    group: str
    protocol: str
    members: int
    owned: int | None
    stuck: int
    committed: Mapping[TopicPartition, int | None]
    lag: int | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({partition.topic for partition in self.committed}))


def of_nodes(facts: GroupFacts) -> GroupSummary:
    astray = stuck(facts)
    committed: dict[TopicPartition, int | None] = dict.fromkeys(facts.owners)
    committed |= {p: parse_offset(raw) for p, raw in facts.offsets.items()}
    owned = len(facts.owners.keys() - astray)
    return GroupSummary(facts.group, "zookeeper", len(facts.ids), owned, len(astray), committed)


def of_brokered(
    group: BrokeredGroup, offsets: Mapping[TopicPartition, StoredOffset]
) -> GroupSummary:
    assigned = {partition for member in group.members for partition in member.assigned}
    committed: dict[TopicPartition, int | None] = dict.fromkeys(assigned)
    committed |= {p: stored.offset for p, stored in offsets.items()}
    is_told = group.shows_assignment or not group.members
    protocol = "kafka" if group.kind == "classic" else "kafka (KIP-848)"
    owned = len(assigned) if is_told else None
    return GroupSummary(group.group, protocol, len(group.members), owned, 0, committed)


def lag_of(summary: GroupSummary, ends: Mapping[TopicPartition, int]) -> int | None:
    """Of the partitions whose lag is known; None where it is known of none."""
    known = [
        max(0, ends[p] - at) for p, at in summary.committed.items() if at is not None and p in ends
    ]
    return sum(known) if known else None


def live_first(rows: Iterable[GroupSummary]) -> list[GroupSummary]:
    return sorted(rows, key=lambda row: (not row.members, row.group, row.protocol))
