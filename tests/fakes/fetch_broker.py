"""A broker at the end of a socket, in this process: it keeps logs in memory, takes what producers
send, and can be told to err, to wait, and to break off in the middle of an answer.

It speaks with kafka-python's generated classes, which the fetch itself does without. The contract
of tests/contract/test_fetch.py holds for it as for real brokers; what it is for is
tests/contract/test_fetch_ahead.py.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka.protocol.metadata import ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import (
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)

from pyspark_zkgroup.model import AbortedTransaction, TopicPartition

NODE = 7
PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, INIT_PRODUCER_ID = 0, 1, 2, 3, 18, 22
# The newest of each before lengths became variable.
VERSIONS = {
    PRODUCE: (3, 8),
    FETCH: (4, 11),
    LIST_OFFSETS: (1, 5),
    METADATA: (1, 8),
    API_VERSIONS: (0, 2),
    INIT_PRODUCER_ID: (0, 1),
}
OUT_OF_RANGE, UNKNOWN_TOPIC, UNSUPPORTED_VERSION = 1, 3, 35


@dataclass
class Log:
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    """The offset behind each batch, and the batch."""
    start: int = 0
    end: int = 0
    stable: int | None = None
    aborted: list[AbortedTransaction] = field(default_factory=list)

    def append(self, batch: bytes) -> int:
        (delta,) = struct.unpack_from(">i", batch, 23)
        base, self.end = self.end, self.end + delta + 1
        self.batches.append((self.end, struct.pack(">q", base) + batch[8:]))
        return base

    def visible_end(self, isolation: int) -> int:
        return self.end if isolation == 0 or self.stable is None else self.stable

    def read(self, offset: int, isolation: int) -> bytes:
        end = self.visible_end(isolation)
        return b"".join(data for after, data in self.batches if offset < after <= end)


@dataclass(frozen=True)
class Fetch:
    """One request as it was seen."""

    connection: int
    isolation: int
    positions: tuple[tuple[TopicPartition, int], ...]


class FetchBroker:
    def __init__(self) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.fetches: list[Fetch] = []
        self.errors: dict[TopicPartition, list[int]] = {}
        """Error codes for the next fetches of a partition; 0 lets one pass."""
        self.throttles_ms: list[int] = []
        """For the next fetches, which are then answered without partitions."""
        self.cut_after: int | None = None
        """The next answer to a fetch ends after so many bytes, and its connection with it."""
        self.unanswered: set[int] = set()
        """Which fetches, counted from 1, never get an answer."""
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    def create_topic(self, topic: str, partitions: int, _config: object = None) -> None:
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
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._accepting.join()
        self.drop_connections()

    def drop_connections(self) -> None:
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            number += 1
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError, EOFError):
            while True:
                (size,) = struct.unpack(">i", _receive(connection, 4))
                request = _receive(connection, size)
                key, version, correlation_id, named = struct.unpack_from(">hhih", request)
                body = request[10 + max(0, named) :]
                answer = self._answer(number, key, version, body)
                whole = struct.pack(">ii", 4 + len(answer), correlation_id) + answer
                if key == FETCH and self.cut_after is not None:
                    whole, self.cut_after = whole[: self.cut_after], None
                    connection.sendall(whole)
                    return
                connection.sendall(whole)

    def _answer(self, number: int, key: int, version: int, body: bytes) -> bytes:
        if key == API_VERSIONS:
            return self._api_versions(version)
        kinds: dict[int, tuple[Any, Callable[[Any], Any]]] = {
            PRODUCE: (ProduceRequest, self._produce),
            FETCH: (FetchRequest, lambda request: self._fetch(number, request)),
            LIST_OFFSETS: (ListOffsetsRequest, self._offsets),
            METADATA: (MetadataRequest, self._metadata),
        }
        if key == INIT_PRODUCER_ID:
            response = InitProducerIdResponse(
                throttle_time_ms=0, error_code=0, producer_id=1, producer_epoch=0
            )
        else:
            kind, answer = kinds[key]
            response = answer(kind[version].decode(body))
        return bytes(response.encode(version=version))

    def _api_versions(self, version: int) -> bytes:
        known = [
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in VERSIONS.items()
        ]
        too_new = version > VERSIONS[API_VERSIONS][1]
        response = ApiVersionsResponse(
            error_code=UNSUPPORTED_VERSION if too_new else 0, api_keys=known, throttle_time_ms=0
        )
        return bytes(response.encode(version=0 if too_new else version))

    def _metadata(self, request: Any) -> Any:
        kind = MetadataResponse.MetadataResponseTopic
        names = {tp.topic for tp in self.logs}
        wanted = names if request.topics is None else {t.name for t in request.topics}
        host, port = self._server.getsockname()
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=NODE, host=host, port=port, rack=None
                )
            ],
            cluster_id="fake",
            controller_id=NODE,
            topics=[
                kind(
                    error_code=0 if name in names else UNKNOWN_TOPIC,
                    name=name,
                    is_internal=False,
                    partitions=[
                        kind.MetadataResponsePartition(
                            error_code=0,
                            partition_index=tp.partition,
                            leader_id=NODE,
                            replica_nodes=[NODE],
                            isr_nodes=[NODE],
                            offline_replicas=[],
                        )
                        for tp in sorted(self.logs)
                        if tp.topic == name
                    ],
                )
                for name in sorted(wanted)
            ],
        )

    def _offsets(self, request: Any) -> Any:
        kind = ListOffsetsResponse.ListOffsetsTopicResponse
        topics = []
        for topic in request.topics:
            answers = []
            for asked in topic.partitions:
                log = self.logs.get(TopicPartition(topic.name, asked.partition_index))
                offset = -1
                if log is not None:
                    is_start = asked.timestamp == -2
                    offset = log.start if is_start else log.visible_end(request.isolation_level)
                answers.append(
                    kind.ListOffsetsPartitionResponse(
                        partition_index=asked.partition_index,
                        error_code=UNKNOWN_TOPIC if log is None else 0,
                        timestamp=-1,
                        offset=offset,
                    )
                )
            topics.append(kind(name=topic.name, partitions=answers))
        return ListOffsetsResponse(throttle_time_ms=0, topics=topics)

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
            is_answered = len(self.fetches) not in self.unanswered
            self._changed.notify_all()
        if not is_answered:
            self._closing.wait()
            raise EOFError
        if self.throttles_ms:
            return FetchResponse(
                throttle_time_ms=self.throttles_ms.pop(0), error_code=0, session_id=0, responses=[]
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
                answer = self._read_one(tp, asked.fetch_offset, request.isolation_level)
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

    def _read_one(self, tp: TopicPartition, offset: int, isolation: int) -> Any:
        kind = FetchResponse.FetchableTopicResponse.PartitionData
        log = self.logs.get(tp, Log())
        planned = self.errors.get(tp)
        code = planned.pop(0) if planned else 0
        if tp not in self.logs:
            code = UNKNOWN_TOPIC
        elif not code and not log.start <= offset <= log.end:
            code = OUT_OF_RANGE
        aborted = [
            kind.AbortedTransaction(producer_id=t.producer_id, first_offset=t.first_offset)
            for t in log.aborted
        ]
        return kind(
            partition_index=tp.partition,
            error_code=code,
            high_watermark=-1 if code else log.end,
            last_stable_offset=-1 if code else log.visible_end(1),
            log_start_offset=log.start,
            aborted_transactions=aborted if isolation and not code else None,
            preferred_read_replica=-1,
            records=b"" if code else log.read(offset, isolation),
        )


def _receive(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return bytes(found)
