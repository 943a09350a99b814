"""Which topics and partitions there are, judged by what several brokers answer over time.

Each broker answers from its own copy of the metadata, and a copy may lag. A topic gets two more
partitions; they are found and read; the next look is answered by a broker that has not heard of
them. Believed at once, that answer reports two deleted partitions with unread records, and the
query ends. So what was there once counts as deleted only after it has been missing for a while, and
only when two brokers then say so, or the only one there is. A topic with another id is another
topic: the one that was known is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.model import TopicPartition

MISSING_S = 5.0
_BROKERS_MIN = 2


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """`id` is empty where the broker keeps no topic ids (before Kafka 2.8)."""

    partitions: tuple[int, ...]
    id: str = ""

    def agrees_with(self, seen: TopicSeen | None) -> bool:
        """Whether `seen` may be this very topic, grown perhaps."""
        if seen is None or not set(self.partitions) <= set(seen.partitions):
            return False
        return not self.id or not seen.id or self.id == seen.id


@dataclass(frozen=True, slots=True)
class Answer:
    """What one broker said of all topics. `broker` is None where its id is not known; `brokers` is
    how many there are.
    """

    at: float
    broker: int | None
    brokers: int
    topics: Mapping[str, TopicSeen]


@dataclass(frozen=True, slots=True)
class Missing:
    """`by`: the brokers that have said so after MISSING_S had passed."""

    since: float
    by: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """`topics` is what counts as being there; `missing` are those of them that are in doubt.

    `gone` are partitions that were found deleted, with the id of their topic. The look that finds
    it may be one for new topics; without them the next look at what is held would doubt again.
    """

    topics: Mapping[str, TopicSeen] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    gone: frozenset[tuple[TopicPartition, str]] = frozenset()

    @property
    def partitions(self) -> dict[str, tuple[int, ...]]:
        return {name: topic.partitions for name, topic in sorted(self.topics.items())}

    @property
    def denied_by(self) -> frozenset[int]:
        """Brokers whose word needs that of another one now."""
        return frozenset(broker for missing in self.missing.values() for broker in missing.by)

    def assuming(self, held: Mapping[TopicPartition, str]) -> KnownTopics:
        """As if these had been seen too, in topics with these ids: they are held."""
        topics = dict(self.topics)
        for partition, topic_id in held.items():
            if (partition, topic_id) in self.gone:
                continue
            topic = topics.get(partition.topic, TopicSeen(()))
            numbers = tuple(sorted({*topic.partitions, partition.partition}))
            topics[partition.topic] = TopicSeen(numbers, topic_id or topic.id)
        return KnownTopics(topics, self.missing, self.gone)

    def lacks(self, held: Mapping[TopicPartition, str]) -> dict[TopicPartition, bool]:
        """Those that are not there: True; those in doubt: False."""
        return {
            p: p.topic not in self.missing
            for p, topic_id in held.items()
            if p.topic in self.missing
            or not TopicSeen((p.partition,), topic_id).agrees_with(self.topics.get(p.topic))
        }

    def after(self, answer: Answer) -> KnownTopics:
        topics = dict(answer.topics)
        missing: dict[str, Missing] = {}
        gone = set(self.gone)
        for name, known in self.topics.items():
            seen = answer.topics.get(name)
            if seen is not None and known.agrees_with(seen):
                topics[name] = TopicSeen(seen.partitions, seen.id or known.id)
                continue
            doubt = _denied(self.missing.get(name, Missing(answer.at)), answer)
            if len(doubt.by) < min(_BROKERS_MIN, answer.brokers):
                topics[name], missing[name] = known, doubt
            else:
                gone |= _partitions(name, known)
        for name in {partition.topic for partition, _ in gone} & topics.keys():
            gone -= _partitions(name, topics[name])
        return KnownTopics(topics, missing, frozenset(gone))


def _partitions(name: str, topic: TopicSeen) -> set[tuple[TopicPartition, str]]:
    """With the topic's id, and without one, as a member that does not know it holds them."""
    return {(TopicPartition(name, n), i) for n in topic.partitions for i in (topic.id, "")}


def _denied(missing: Missing, answer: Answer) -> Missing:
    if answer.broker is None or answer.at - missing.since < MISSING_S:
        return missing
    return Missing(missing.since, missing.by | {answer.broker})
