"""The brokers of the simulated world at the end of the wire: a Cluster without sockets.

The product's requests arrive as it builds them, and it parses the answers. tests/fakes/kafka.py
decides which broker leads a partition, in which epoch, and what a broker answers that does not know
of an election.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.fetch_response import FetchResponse, PartitionData
from pyspark_zkgroup.kafka.leader_cache import Leaders
from pyspark_zkgroup.kafka.record_sizes import RecordSizes
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.kafka import BROKERS, LIFE_MARK, FakeKafka, Log

OUT_OF_RANGE, NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH = 1, 6, 74, 75
_EARLIEST, _EARLIEST_LOCAL = -2, -4
_BATCH_MAX, _ANSWER_MAX = 20, 60
_BATCH = struct.Struct(">qiibiHiqqqHii")
_OVERHEAD = 12


def uuid_of(topic: str, life: int) -> uuid.UUID:
    return uuid.UUID(bytes=hashlib.md5(f"{topic} {life}".encode(), usedforsecurity=False).digest())


def wire_id(topic: str, life: int) -> str:
    """As the product shows the id of a topic."""
    return base64.urlsafe_b64encode(uuid_of(topic, life).bytes).decode().rstrip("=")


def batches(data: memoryview) -> Iterator[tuple[int, int, int]]:
    """The first offset, that behind the last one, and which records they are."""
    at = 0
    while at < len(data):
        base, length, epoch, *_, delta = _BATCH.unpack_from(data, at)[:7]
        life = _BATCH.unpack_from(data, at)[9]
        yield base, base + delta + 1, life * LIFE_MARK + epoch
        at += _OVERHEAD + length


def _batch(start: int, until: int, epoch: int, life: int) -> bytes:
    length = _BATCH.size - _OVERHEAD
    count = until - start
    return _BATCH.pack(start, length, epoch, 2, 0, 0, count - 1, 0, 0, life, 0, 0, count)


@dataclass(eq=False)
class WireCall:
    node: int
    answer: Any


class WireCluster:
    def __init__(
        self,
        kafka: FakeKafka,
        settings: FetchSettings,
        clock: Clock,
        step: Callable[[str], None],
        reaches: Callable[[], bool],
        name: str,
    ) -> None:
        self.kafka = kafka
        self.settings = settings
        self.clock = clock
        self.step = step
        self.reaches = reaches
        self.leaders = Leaders()
        self.near_replicas: dict[TopicPartition, tuple[int, float]] = {}
        self.sizes = RecordSizes()
        self._rng = Random(name)
        self.answered: int = self._rng.choice(BROKERS)
        self.answered_from = ""

    # -- as a Cluster

    def ask(
        self,
        build: Callable[[], Any],
        *,
        timeout_s: float,
        last: Collection[int] = (),
        is_answer: Callable[[Any], bool] = lambda _: True,
    ) -> Any:
        """Of metadata. A client keeps to the broker that has answered it."""
        del timeout_s
        request = build()
        self._arrive("metadata")
        order = sorted(BROKERS, key=lambda node: node != self.answered)
        self.answered = min(order, key=last.__contains__)
        answer = self._metadata(self.answered, request)
        assert is_answer(answer)
        return answer

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> dict[int, Any]:
        """All at the same time."""
        del timeout_s
        self._arrive(type(next(iter(requests.values()))).__name__)
        return {node: self._answer(node, request) for node, request in requests.items()}

    def start(self, node: int, request: Any, *, timeout_s: float) -> WireCall:
        del timeout_s
        self._arrive("fetch")
        return WireCall(node, self._answer(node, request))

    def first(self, calls: Sequence[WireCall], *, timeout_s: float) -> WireCall:
        del timeout_s
        return calls[0]

    def wait(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def pauses(self) -> Iterator[float]:
        return delays(self._rng)

    def take_in(self) -> None: ...
    def abandon(self, _calls: Collection[WireCall]) -> None: ...
    def learn(self, _response: Any) -> None: ...
    def close(self) -> None: ...

    # -- as a broker

    def _arrive(self, what: str) -> None:
        self.step(f"kafka {what}")
        if not self.reaches():
            raise ServerError("No broker answered in time", "Check the brokers")

    def _answer(self, node: int, request: Any) -> Any:
        kind = type(request).__name__
        if kind == "FetchRequest":
            return self._fetch(node, request)
        if kind == "ListOffsetsRequest":
            return self._offsets(node, request)
        assert kind == "OffsetForLeaderEpochRequest", kind
        return self._epoch_ends(node, request)

    def _led(self, node: int, tp: TopicPartition, epoch: int) -> tuple[Log | None, int]:
        """The log, or the code of the error."""
        log = self.kafka.logs.get(tp)
        log = None if log is None else log.led_by(node)
        if log is None:
            return None, NOT_LEADER
        if epoch < 0 or epoch == log.epoch:
            return log, 0
        return None, FENCED_EPOCH if epoch < log.epoch else UNKNOWN_EPOCH

    def _metadata(self, node: int, request: Any) -> Any:
        names = set(self.kafka.topics(node))
        wanted = sorted(names if request.topics is None else {t.name for t in request.topics})
        return SimpleNamespace(
            cluster_id="c",
            brokers=[SimpleNamespace(node_id=n, host=f"b{n}", port=9092) for n in BROKERS],
            topics=[
                SimpleNamespace(
                    name=name,
                    error_code=0 if name in names else 3,
                    topic_id=uuid_of(name, self.kafka.lives[name]) if name in names else None,
                    is_internal=False,
                    partitions=[self._partition(node, tp) for tp in self.kafka.partitions_of(name)],
                )
                for name in wanted
            ],
        )

    def _partition(self, node: int, tp: TopicPartition) -> Any:
        log = self.kafka.logs[tp]
        leader, epoch = log.leader if log.has_leader else -1, log.epoch
        if log.former is not None and log.former[0] == node:
            leader, epoch = node, log.former[1].epoch
        return SimpleNamespace(
            partition_index=tp.partition, leader_id=leader, leader_epoch=epoch, error_code=0
        )

    def _offsets(self, node: int, request: Any) -> Any:
        def told(topic: str, asked: Any) -> Any:
            tp = TopicPartition(topic, asked.partition_index)
            log, code = self._led(node, tp, asked.current_leader_epoch)
            offset, epoch = -1, -1
            if log is not None:
                is_start = asked.timestamp in (_EARLIEST, _EARLIEST_LOCAL)
                end = log.visible_end(request.isolation_level)
                offset, epoch = (log.earliest if is_start else end), log.epoch
            return SimpleNamespace(
                partition_index=tp.partition, error_code=code, offset=offset, leader_epoch=epoch
            )

        topics = [
            SimpleNamespace(name=t.name, partitions=[told(t.name, p) for p in t.partitions])
            for t in request.topics
        ]
        return SimpleNamespace(API_VERSION=5, topics=topics)

    def _epoch_ends(self, node: int, request: Any) -> Any:
        def told(topic: str, asked: Any) -> Any:
            tp = TopicPartition(topic, asked.partition)
            log, code = self._led(node, tp, asked.current_leader_epoch)
            end = -1 if log is None else log.end_of(asked.leader_epoch)
            return SimpleNamespace(partition=tp.partition, error_code=code, end_offset=end)

        topics = [
            SimpleNamespace(topic=t.topic, partitions=[told(t.topic, p) for p in t.partitions])
            for t in request.topics
        ]
        return SimpleNamespace(topics=topics)

    def _fetch(self, node: int, request: Any) -> FetchResponse:
        found = []
        for topic in request.topics:
            for asked in topic.partitions:
                tp = TopicPartition(topic.topic, asked.partition)
                log, code = self._led(node, tp, asked.current_leader_epoch)
                if log is not None and not log.earliest <= asked.fetch_offset <= log.latest:
                    log, code = None, OUT_OF_RANGE
                found.append(self._read(tp, log, code, asked.fetch_offset, request.isolation_level))
        return FetchResponse(0, 0, tuple(found))

    def _read(
        self, tp: TopicPartition, log: Log | None, code: int, offset: int, isolation: int
    ) -> PartitionData:
        if log is None:
            return PartitionData(tp.topic, tp.partition, code, -1)
        data = b"".join(_records(log, offset, log.visible_end(isolation)))
        return PartitionData(
            *(tp.topic, tp.partition, 0, log.latest, log.visible_end(1)), records=memoryview(data)
        )


def _records(log: Log, start: int, end: int) -> Iterator[bytes]:
    """Whole batches: none spans two epochs, and none is where nothing is left."""
    end = min(end, start + _ANSWER_MAX + len(log.holes))
    while start < end:
        until = start
        epoch = log.epoch_at(start)
        while until < min(end, start + _BATCH_MAX) and until not in log.holes:
            if log.epoch_at(until) != epoch:
                break
            until += 1
        if until > start:
            yield _batch(start, until, epoch, log.life)
        start = max(until, start + 1)
