"""A broker at the end of a socket, in this process. It keeps logs in memory, accepts producers, and
can be made to return errors, to wait, and to break off in the middle of an answer.

It uses kafka-python's generated classes, unlike the fetch itself. It passes the contract of
tests/contract/test_fetch.py like real brokers; its purpose is tests/contract/test_fetch_ahead.py.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from kafka.protocol.metadata import ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import (
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)

from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_log import Log
from tests.fakes.broker_socket import HOST, BrokerSocket, receive
from tests.fakes.log_answers import UNKNOWN_TOPIC, epoch_ends, log_offsets

NODE = 7
PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, INIT_PRODUCER_ID = 0, 1, 2, 3, 18, 22
EPOCH_ENDS = 23
# The newest of each before lengths became variable; metadata has topic ids later only.
METADATA_FLEXIBLE_FROM = 9
VERSIONS = {
    PRODUCE: (3, 8),
    FETCH: (4, 11),
    LIST_OFFSETS: (1, 5),
    METADATA: (1, 12),
    API_VERSIONS: (0, 2),
    INIT_PRODUCER_ID: (0, 1),
    EPOCH_ENDS: (2, 3),
}
OUT_OF_RANGE, UNSUPPORTED_VERSION = 1, 35


@dataclass(frozen=True)
class Fetch:
    """One request as it was seen."""

    connection: int
    isolation: int
    positions: tuple[tuple[TopicPartition, int], ...]


@dataclass
class FetchFaults:
    errors: dict[TopicPartition, list[int]] = field(default_factory=dict)
    """Error codes for the next fetches of a partition; 0 lets one pass."""
    throttles_ms: list[int] = field(default_factory=list)
    """For the next fetches, which are then answered without partitions."""
    cut_after: int | None = None
    """The next answer to a fetch ends after so many bytes, and its connection with it."""
    unanswered: set[int] = field(default_factory=set)
    """Which fetches, counted from 1, never get an answer."""


class FetchBroker:
    def __init__(self, node: int = NODE) -> None:
        self.node = node
        self.logs: dict[TopicPartition, Log] = {}
        self.ids: dict[str, uuid.UUID] = {}
        self.peers: list[FetchBroker] = []
        """The cluster's other brokers, as this one knows them."""
        self.leaders: dict[TopicPartition, tuple[int, int]] = {}
        """Node and epoch, where this broker says that another one leads, or led."""
        self.heard: Counter[int] = Counter()
        """Requests of each kind."""
        self.fetches: list[Fetch] = []
        self.faults = FetchFaults()
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._socket = BrokerSocket(self._serve)

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self._socket.port}"

    def create_topic(self, topic: str, partitions: int, _config: object = None) -> None:
        self.ids[topic] = uuid.uuid4()
        for number in range(partitions):
            self.logs[TopicPartition(topic, number)] = Log()

    def delete_topic(self, topic: str) -> None:
        self.logs = {tp: log for tp, log in self.logs.items() if tp.topic != topic}

    def append(self, tp: TopicPartition, batch: bytes) -> None:
        with self._changed:
            self.logs[tp].append(batch)
            self._changed.notify_all()

    def wait_for_fetches(self, count: int, timeout_s: float = 20.0) -> None:
        with self._changed:
            seen = self._changed.wait_for(lambda: len(self.fetches) >= count, timeout_s)
        assert seen, f"{len(self.fetches)} fetches were seen, not {count}"

    def close(self) -> None:
        self._closing.set()
        self._socket.close()

    def drop_connections(self) -> None:
        self._socket.drop_connections()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError, EOFError):
            while True:
                (size,) = struct.unpack(">i", receive(connection, 4))
                request = receive(connection, size)
                key, version, correlation_id, named = struct.unpack_from(">hhih", request)
                body = request[10 + max(0, named) :]
                self.heard[key] += 1
                is_flexible = key == METADATA and version >= METADATA_FLEXIBLE_FROM
                # Headers of flexible versions end with their tags, of which there are none.
                answer = b"\0" if is_flexible else b""
                answer += self._answer(number, key, version, body[is_flexible:])
                whole = struct.pack(">ii", 4 + len(answer), correlation_id) + answer
                if key == FETCH and self.faults.cut_after is not None:
                    whole, self.faults.cut_after = whole[: self.faults.cut_after], None
                    connection.sendall(whole)
                    return
                connection.sendall(whole)

    def _answer(self, number: int, key: int, version: int, body: bytes) -> bytes:
        if key == API_VERSIONS:
            return _api_versions(version)
        kinds: dict[int, tuple[Any, Callable[[Any], Any]]] = {
            PRODUCE: (ProduceRequest, self._produce),
            FETCH: (FetchRequest, lambda request: self._fetch(number, request)),
            LIST_OFFSETS: (ListOffsetsRequest, self._offsets),
            METADATA: (MetadataRequest, self._metadata),
            EPOCH_ENDS: (OffsetForLeaderEpochRequest, lambda asked: epoch_ends(self.logs, asked)),
        }
        if key == INIT_PRODUCER_ID:
            response = InitProducerIdResponse(
                throttle_time_ms=0, error_code=0, producer_id=1, producer_epoch=0
            )
        else:
            kind, answer = kinds[key]
            response = answer(kind[version].decode(body))
        return bytes(response.encode(version=version))

    def _metadata(self, request: Any) -> Any:
        kind = MetadataResponse.MetadataResponseTopic
        names = {tp.topic for tp in self.logs}
        wanted = names if request.topics is None else {t.name for t in request.topics}
        brokers = [
            MetadataResponse.MetadataResponseBroker(
                node_id=broker.node, host=HOST, port=broker._socket.port, rack=None
            )
            for broker in (self, *self.peers)
        ]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=brokers,
            cluster_id="fake",
            controller_id=self.node,
            topics=[
                kind(
                    error_code=0 if name in names else UNKNOWN_TOPIC,
                    name=name,
                    topic_id=self.ids.get(name, uuid.UUID(int=0)),
                    is_internal=False,
                    partitions=[
                        self._partition(tp) for tp in sorted(self.logs) if tp.topic == name
                    ],
                )
                for name in sorted(wanted)
            ],
        )

    def _partition(self, tp: TopicPartition) -> Any:
        node, epoch = self.leaders.get(tp, (self.node, self.logs[tp].epoch))
        return MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
            error_code=0,
            partition_index=tp.partition,
            leader_id=node,
            leader_epoch=epoch,
            replica_nodes=[node],
            isr_nodes=[node],
            offline_replicas=[],
        )

    def _offsets(self, request: Any) -> Any:
        return log_offsets(self.logs, request)

    def _produce(self, request: Any) -> Any:
        kind = ProduceResponse.TopicProduceResponse
        topics = []
        for topic in request.topic_data:
            answers = []
            for sent in topic.partition_data:
                with self._changed:
                    log = self.logs[TopicPartition(topic.name, sent.index)]
                    base = log.append(bytes(sent.records))
                    self._changed.notify_all()
                answers.append(
                    kind.PartitionProduceResponse(
                        index=sent.index, error_code=0, base_offset=base, log_append_time_ms=-1
                    )
                )
            topics.append(kind(name=topic.name, partition_responses=answers))
        return ProduceResponse(responses=topics, throttle_time_ms=0)

    def _fetch(self, number: int, request: Any) -> Any:
        positions = [
            (TopicPartition(topic.topic, asked.partition), asked.fetch_offset)
            for topic in request.topics
            for asked in topic.partitions
        ]
        with self._changed:
            self.fetches.append(Fetch(number, request.isolation_level, tuple(positions)))
            is_answered = len(self.fetches) not in self.faults.unanswered
            self._changed.notify_all()
        if not is_answered:
            self._closing.wait()
            raise EOFError
        if self.faults.throttles_ms:
            pause_ms = self.faults.throttles_ms.pop(0)
            return FetchResponse(
                throttle_time_ms=pause_ms, error_code=0, session_id=0, responses=[]
            )
        ends = time.monotonic() + request.max_wait_ms / 1000
        with self._changed:
            while True:
                response, is_empty = self._read(request)
                left = ends - time.monotonic()
                if not is_empty or left <= 0:
                    return response
                self._changed.wait(left)

    def _read(self, request: Any) -> tuple[Any, bool]:
        """Filled in the order of the request; only the first with records is sure of a batch."""
        left, is_empty, topics = request.max_bytes, True, []
        for topic in request.topics:
            answers = []
            for asked in topic.partitions:
                tp = TopicPartition(topic.topic, asked.partition)
                answer = self._read_one(tp, asked, request.isolation_level)
                whole = answer.records
                if whole:
                    (length,) = struct.unpack_from(">i", whole, 8)
                    room = min(left, asked.partition_max_bytes)
                    answer.records = whole[: max(room, 12 + length if is_empty else 0)]
                    left = max(0, left - len(answer.records))
                is_empty = is_empty and not answer.records and answer.error_code == 0
                answers.append(answer)
            topics.append(
                FetchResponse.FetchableTopicResponse(topic=topic.topic, partitions=answers)
            )
        response = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics)
        return response, is_empty

    def _read_one(self, tp: TopicPartition, asked: Any, isolation: int) -> Any:
        offset = asked.fetch_offset
        kind = FetchResponse.FetchableTopicResponse.PartitionData
        log = self.logs.get(tp, Log())
        planned = self.faults.errors.get(tp)
        code = planned.pop(0) if planned else 0
        if tp not in self.logs:
            code = UNKNOWN_TOPIC
        elif not code and log.refusal(asked.current_leader_epoch):
            code = log.refusal(asked.current_leader_epoch)
        elif not code and not log.start <= offset <= log.end:
            code = OUT_OF_RANGE
        aborted = [
            kind.AbortedTransaction(producer_id=t.producer_id, first_offset=t.first_offset)
            for t in log.aborted
        ]
        return kind(
            partition_index=tp.partition,
            error_code=code,
            high_watermark=-1 if code else log.visible_end(0),
            last_stable_offset=-1 if code else log.visible_end(1),
            log_start_offset=log.start,
            aborted_transactions=aborted if isolation and not code else None,
            preferred_read_replica=-1,
            records=b"" if code else log.read(offset, isolation),
        )


def _api_versions(version: int) -> bytes:
    known = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in VERSIONS.items()
    ]
    too_new = version > VERSIONS[API_VERSIONS][1]
    response = ApiVersionsResponse(
        error_code=UNSUPPORTED_VERSION if too_new else 0, api_keys=known, throttle_time_ms=0
    )
    return bytes(response.encode(version=0 if too_new else version))
