"""A group as `doctor` looks at it, to which nothing is wrong unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.inspect.findings import Case, GroupFinding, Look, group_findings
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, Written, report
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import TopicPartition

T = [TopicPartition("t", n) for n in range(4)]
NOW_MS = 10_000_000
LATER_MS = NOW_MS + 5000


def member(
    subscription: Subscription | None = None, strategy: str | None = "range", order: str = "new"
) -> Seen:
    reads = subscription or Subscription.static({"t": 1})
    made = Registration(reads, "1", strategy, order if strategy else None)
    return Seen(encode_registration(made), session=7, made_ms=NOW_MS - 900_000)


def owner(consumer: str, session: int = 7) -> Seen:
    return Seen(f"{consumer}-0".encode(), session, made_ms=NOW_MS - 600_000)


def fresh(ago_s: float = 1.0) -> Written:
    return Written(NOW_MS - 800_000, NOW_MS - int(ago_s * 1000))


@dataclass(frozen=True)
class Group:
    """Two members of four partitions, to whom nothing is wrong, unless told otherwise."""

    ids: Mapping[str, Seen] = field(default_factory=lambda: {"a": member(), "b": member()})
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"t": (0, 1, 2, 3)})
    owners: Mapping[TopicPartition, Seen] = field(
        default_factory=lambda: dict(zip(T, map(owner, "aabb"), strict=True))
    )
    offsets: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 100))
    written: Mapping[TopicPartition, Written] = field(
        default_factory=lambda: dict.fromkeys(T, fresh())
    )
    ends: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 110))
    starts: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 0))
    told: frozenset[str] = frozenset()
    coordinator: Seen | None = None

    def look(self, at_ms: int = NOW_MS) -> Look:
        facts = GroupFacts(
            "g",
            self.ids,
            self.topics,
            self.owners,
            {p: b"%d" % offset for p, offset in self.offsets.items()},
            self.told,
            self.coordinator,
            written={p: self.written.get(p, fresh()) for p in self.offsets},
        )
        return Look(facts, report(facts, self.ends), self.starts, at_ms)


def found(first: Group, last: Group | None = None) -> tuple[GroupFinding, ...]:
    """Findings of two looks, five seconds apart; the second is like the first by default."""
    return group_findings(Case(first.look(), (last or first).look(LATER_MS)))


def codes(first: Group, last: Group | None = None) -> list[str]:
    return [finding.text[1:8] for finding in found(first, last)]
