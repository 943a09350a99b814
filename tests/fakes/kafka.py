"""Brokers without a server: topics that grow, go and come back, logs that lose their beginning."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.errors import OffsetOutOfRangeError, ServerError
from pyspark_zkgroup.kafka.known_topics import Answer, TopicSeen
from pyspark_zkgroup.model import (
    NO_MARK,
    LogEnd,
    Mark,
    OffsetRange,
    Sample,
    StoredOffset,
    TopicPartition,
)
from pyspark_zkgroup.planning.cluster_view import SeenTopics

RECORD_BYTES = 100
BROKERS = (1, 2, 3)
Pieces = list[tuple[OffsetRange, int]]
"""What a task has read, and which records those are: an offset may have had others before."""
LIFE_MARK = 1_000_000
"""Separates the epochs of each life of a topic from those of the others."""


@dataclass
class Log:
    """`life` counts how often the topic was created: its records differ each time."""

    life: int
    earliest: int = 0
    latest: int = 0
    has_leader: bool = True
    epoch: int = 0
    epoch_starts: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    leader: int = BROKERS[0]
    former: tuple[int, Log] | None = None
    """A broker that has not heard that it leads no more, and the log as it was then."""
    open_from: int | None = None
    """Where the oldest open transaction begins."""
    holes: set[int] = field(default_factory=set)
    """Offsets without a record: markers of transactions."""

    def elect(self, end: int | None = None) -> None:
        """A new leader; one that has the log up to `end` only, where that is given."""
        end = self.latest if end is None else end
        self.epoch += 1
        self.latest = end
        self.leader = BROKERS[self.leader % len(BROKERS)]
        if self.former is not None and self.former[0] == self.leader:
            self.former = None
        kept = [(epoch, start) for epoch, start in self.epoch_starts if start < end]
        self.epoch_starts = [*kept, (self.epoch, end)]
        self.holes = {hole for hole in self.holes if hole < end}
        if self.open_from is not None and self.open_from >= end:
            self.open_from = None

    def end_of(self, epoch: int) -> int:
        later = [start for known, start in self.epoch_starts if known > epoch]
        return later[0] if later else self.latest

    def epoch_at(self, offset: int) -> int:
        """The epoch in which the record there was written."""
        return max(epoch for epoch, start in self.epoch_starts if start <= offset)

    def named(self, offset: int) -> int:
        """Which of all records that ever stood there."""
        return self.life * LIFE_MARK + self.epoch_at(offset)

    def visible_end(self, isolation: int) -> int:
        return self.latest if not isolation or self.open_from is None else self.open_from

    def begin_transaction(self) -> None:
        self.open_from = self.latest

    def end_transaction(self) -> None:
        """With a marker, whether it is committed or aborted."""
        if self.open_from is not None:
            self.holes.add(self.latest)
            self.latest, self.open_from = self.latest + 1, None

    def led_by(self, node: int) -> Log | None:
        """The log as this broker has it, if it believes to lead it."""
        if self.former is not None and self.former[0] == node:
            return self.former[1]
        return self if node == self.leader and self.has_leader else None


@dataclass
class FakeKafka:
    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    lagging: dict[int, Mapping[str, TopicSeen]] = field(default_factory=dict)
    """What brokers say of all topics whose copy of the metadata is behind."""
    copies: dict[TopicPartition, StoredOffset] = field(default_factory=dict)
    """The group's offsets, where its members keep them here as well."""
    views: int = 0
    is_wired: bool = False
    """Members and tasks use the wire protocol with the brokers: see tests/sim/wired.py."""

    def topics(self, broker: int) -> Mapping[str, TopicSeen]:
        if broker in self.lagging:
            return self.lagging[broker]
        numbers: dict[str, list[int]] = {}
        for partition in sorted(self.logs):
            numbers.setdefault(partition.topic, []).append(partition.partition)
        return {t: TopicSeen(tuple(n), self.topic_id(t)) for t, n in numbers.items()}

    def topic_id(self, topic: str) -> str:
        return f"{topic}-{self.lives[topic]}"

    def fall_behind(self, broker: int) -> None:
        """From now on the broker's metadata is not updated."""
        self.lagging.setdefault(broker, self.topics(broker))

    def catch_up(self, broker: int) -> None:
        self.lagging.pop(broker, None)

    def make_topic(self, topic: str, partitions: int) -> None:
        self.lives[topic] = self.lives.get(topic, 0) + 1
        self.grow(topic, partitions)

    def grow(self, topic: str, to: int) -> None:
        for number in range(to):
            self.logs.setdefault(TopicPartition(topic, number), Log(self.lives[topic]))

    def delete_topic(self, topic: str) -> None:
        for partition in [p for p in self.logs if p.topic == topic]:
            del self.logs[partition]

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return sorted(p for p in self.logs if p.topic == topic)

    def produce(self, partition: TopicPartition, count: int) -> None:
        self.logs[partition].latest += count

    def leave_behind(self, partition: TopicPartition) -> None:
        """Elect a leader that the old one does not know of: the old one continues to answer."""
        log = self.logs[partition]
        seen = replace(log, epoch_starts=list(log.epoch_starts), holes=set(log.holes))
        log.former = log.leader, seen
        log.elect()

    def bring_back(self) -> None:
        """Every broker is up to date, and every log has a leader and no open transaction."""
        self.lagging.clear()
        for log in self.logs.values():
            log.has_leader = True
            log.end_transaction()
            log.latest += 1

    def topic_node(self, topic: str) -> bytes:
        """As a broker writes it below /brokers/topics."""
        numbers = [p.partition for p in self.partitions_of(topic)]
        value = {"version": 1, "partitions": {str(n): [1] for n in numbers}}
        return json.dumps(value).encode()


class FakeView:
    """The brokers as one process sees them, through its connection."""

    def __init__(
        self,
        kafka: FakeKafka,
        reaches: Callable[[], bool],
        step: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        self.kafka = kafka
        self.reaches = reaches
        self.step = step
        self.now = now
        kafka.views += 1
        self._home = kafka.views % len(BROKERS)
        self._topics = SeenTopics(self._answer)

    def found(self, addresses: Collection[str]) -> None:
        """They are reached whatever they are called."""

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        return self._topics.look().partitions

    def lacks(self, held: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, bool]:
        return self._topics.look(held).lacks(held)

    def _answer(self, last: Collection[int]) -> Answer:
        """A client keeps to the broker that has answered it."""
        self._ask("metadata")
        order = [*BROKERS[self._home :], *BROKERS[: self._home]]
        broker = min(order, key=last.__contains__)
        self._home = BROKERS.index(broker)
        return Answer(self.now(), broker, len(BROKERS), self.kafka.topics(broker))

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: log.earliest for p, log in self._logs("earliest", partitions).items()}

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: log.latest for p, log in self._logs("latest", partitions).items()}

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogEnd]:
        return {
            p: LogEnd(log.latest, Mark(log.epoch, self.kafka.topic_id(p.topic)))
            for p, log in self._logs("latest", partitions).items()
        }

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        logs = self._logs("epochs", list(epochs))
        return {p: log.end_of(epochs[p]) for p, log in logs.items()}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: log.latest for p, log in self._logs("ends", partitions).items()}

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """The record of each offset has that offset as its time."""
        logs = self._logs("times", list(times))
        return {
            p: max(times[p], log.earliest) if times[p] < log.latest else None
            for p, log in logs.items()
        }

    def samples(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Sample]:
        return {p: Sample(1, RECORD_BYTES) for p in self._logs("samples", list(positions))}

    def read(self, partition: TopicPartition, wanted: OffsetRange, _mark: Mark = NO_MARK) -> Pieces:
        """Logs are not cut where brokers are seen in this way."""
        self._ask("fetch")
        log = self.kafka.logs.get(partition)
        if log is None or not log.has_leader:
            raise ServerError(f"{partition} has no leader", "Wait")
        if len(wanted) and (wanted.start < log.earliest or wanted.until > log.latest):
            raise OffsetOutOfRangeError(
                f"{partition} has {log.earliest} to {log.latest}, not {wanted}", "Reset"
            )
        return [(wanted, log.life)]

    def _ask(self, what: str) -> None:
        self.step(f"kafka {what}")
        if not self.reaches():
            raise ServerError("No broker answered in time", "Check the brokers")

    def _logs(self, what: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Log]:
        """Of those that have a leader now; the others are left out, as the real view does."""
        if partitions:
            self._ask(what)
        logs = self.kafka.logs
        return {p: logs[p] for p in partitions if p in logs and logs[p].has_leader}
