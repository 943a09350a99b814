"""The three questions asked of brokers, as values: metadata, offsets of a log, records.

Only this file and group_wire.py know kafka-python's generated request classes, and only
connection.py its connections. Neither is a promised interface of kafka-python;
tests/contract/test_kafka_python.py fails when they change.

Versions are negotiated per connection. Fetch stays at those that fetch_response.py reads. From 13
on topics are ids, which a range of an older plan does not hold.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import kafka.errors
from kafka.protocol.consumer import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from kafka.protocol.metadata import MetadataRequest

from pyspark_zkgroup.kafka import error_codes as broker_codes
from pyspark_zkgroup.kafka import fetch_response
from pyspark_zkgroup.kafka.error_codes import Meaning, Request
from pyspark_zkgroup.kafka.fetch_response import FetchResponse
from pyspark_zkgroup.model import AbortedTransaction, Isolation, TopicPartition

EARLIEST = -2
LATEST = -1
EARLIEST_LOCAL = (
    -4
)  # the first offset on the broker itself, where older ones were moved to remote storage

_ISOLATION_LEVELS: Mapping[Isolation, int] = {"read_uncommitted": 0, "read_committed": 1}
_RETRYABLE = frozenset({Meaning.AGAIN, Meaning.LOOK_UP, Meaning.IN_DOUBT, Meaning.GONE})
NO_EPOCHS: Final[Mapping[TopicPartition, int]] = MappingProxyType({})
# Versions from which a broker says that it does not know an end yet (KIP-207), and from which
# clients may ask where an epoch ends (KIP-320).
_OFFSET_NOT_AVAILABLE_FROM = 5
_EPOCH_ENDS_FROM = 3


@dataclass(frozen=True, slots=True)
class BrokerError:
    """What a broker answered instead of data."""

    code: int
    name: str
    retryable: bool

    @property
    def out_of_range(self) -> bool:
        return self.code == broker_codes.OFFSET_OUT_OF_RANGE

    @property
    def unknown_topic(self) -> bool:
        return self.code == broker_codes.UNKNOWN_TOPIC_OR_PARTITION

    @property
    def topic_refused(self) -> bool:
        return self.code == broker_codes.TOPIC_AUTHORIZATION_FAILED

    @property
    def keeps_no_times(self) -> bool:
        """The topic's records are kept in a format from before 0.10, which has no times."""
        return self.code == broker_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT

    def __str__(self) -> str:
        return f"{self.name} ({self.code})"


@dataclass(frozen=True, slots=True)
class Topic:
    partitions: tuple[int, ...]
    internal: bool
    leaders: Mapping[int, int] = field(default_factory=dict)
    """Broker ids; a partition that has no leader at the moment is not in it."""
    epochs: Mapping[int, int] = field(default_factory=dict)
    """Under which each leader leads; -1 where the broker keeps none (before 2.1)."""
    id: str = ""
    """Another one for each topic that was ever made; empty where the broker keeps none (before
    2.8)."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What one broker knew of the cluster at one moment."""

    cluster_id: str | None
    brokers: Mapping[int, str]
    """Broker id to host:port."""
    topics: Mapping[str, Topic]
    missing: Mapping[str, BrokerError]
    """Topics asked for by name and not given, with the reason: unknown, being made, not allowed."""
    broker: int | None = None
    """The one that has answered; None where it was only known by an address."""


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    partition: TopicPartition
    error: BrokerError | None
    end: int
    """Of what may be seen: the high watermark, or the last stable offset under read_committed."""
    records: memoryview
    aborted: tuple[AbortedTransaction, ...] = ()
    near_replica: int | None = None
    """The broker to ask instead, where the client has named its rack; then there are no records."""


def metadata_request(topics: Iterable[str] | None) -> Any:
    """None asks for all topics. Never creates one."""
    named = None
    if topics is not None:
        named = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in sorted(set(topics))]
    return MetadataRequest(
        topics=named,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def metadata_answer(response: Any, broker: int | None = None) -> Metadata:
    topics: dict[str, Topic] = {}
    missing: dict[str, BrokerError] = {}
    for entry in response.topics:
        error = error_of("metadata", entry.error_code)
        if error is not None:
            missing[entry.name] = error
            continue
        topics[entry.name] = Topic(
            partitions=tuple(sorted(p.partition_index for p in entry.partitions)),
            internal=bool(entry.is_internal),
            leaders={p.partition_index: p.leader_id for p in entry.partitions if p.leader_id >= 0},
            epochs={p.partition_index: p.leader_epoch for p in entry.partitions},
            id=_topic_id(entry.topic_id),
        )
    return Metadata(
        cluster_id=response.cluster_id,
        brokers={b.node_id: f"{b.host}:{b.port}" for b in response.brokers},
        topics=topics,
        missing=missing,
        broker=broker,
    )


def _topic_id(given: UUID | None) -> str:
    """As Kafka's own tools show it."""
    if given is None or not given.int:
        return ""
    return urlsafe_b64encode(given.bytes).decode().rstrip("=")


def offsets_request(
    partitions: Mapping[TopicPartition, int],
    isolation: Isolation = "read_uncommitted",
    epochs: Mapping[TopicPartition, int] = NO_EPOCHS,
) -> Any:
    """In each partition: EARLIEST, LATEST (the high watermark; the last stable offset under
    read_committed), EARLIEST_LOCAL or a time in milliseconds. `epochs`: those of the leaders that
    are asked; a broker that leads under another one says so.
    """
    entry = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
    by_topic: dict[str, list[Any]] = {}
    for tp, at in sorted(partitions.items()):
        by_topic.setdefault(tp.topic, []).append(
            entry(
                partition_index=tp.partition,
                current_leader_epoch=epochs.get(tp, -1),
                timestamp=at,
            )
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=_ISOLATION_LEVELS[isolation],
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=entries)
            for topic, entries in by_topic.items()
        ],
        # Version 0 answers with a list of segments; what is on the broker itself is known from
        # version 8 on.
        min_version=8 if EARLIEST_LOCAL in partitions.values() else 1,
    )


@dataclass(frozen=True, slots=True)
class ToldOffset:
    """`epoch` is below 0 where the broker does not tell. `may_lag`: a broker before 2.2 does not
    say when, just elected, it does not know yet how far the log is committed.
    """

    offset: int
    epoch: int = -1
    may_lag: bool = False


def offsets_answer(response: Any) -> dict[TopicPartition, ToldOffset | BrokerError]:
    answers: dict[TopicPartition, ToldOffset | BrokerError] = {}
    may_lag = response.API_VERSION < _OFFSET_NOT_AVAILABLE_FROM
    for topic in response.topics:
        for entry in topic.partitions:
            error = error_of("list offsets", entry.error_code)
            answers[TopicPartition(topic.name, entry.partition_index)] = (
                ToldOffset(entry.offset, entry.leader_epoch, may_lag) if error is None else error
            )
    return answers


def epoch_ends_request(
    epochs: Mapping[TopicPartition, int], leading: Mapping[TopicPartition, int]
) -> Any:
    """Where each epoch ends in the log of the leader, whose own epochs are `leading`."""
    topic_of = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    entry = topic_of.OffsetForLeaderPartition
    by_topic: dict[str, list[Any]] = {}
    for tp, epoch in sorted(epochs.items()):
        by_topic.setdefault(tp.topic, []).append(
            entry(
                partition=tp.partition,
                current_leader_epoch=leading.get(tp, -1),
                leader_epoch=epoch,
            )
        )
    return OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[topic_of(topic=topic, partitions=entries) for topic, entries in by_topic.items()],
        # Before it only brokers may ask.
        min_version=_EPOCH_ENDS_FROM,
    )


def epoch_ends_answer(response: Any) -> dict[TopicPartition, int | BrokerError]:
    """Below 0 where the leader does not know the epoch."""
    answers: dict[TopicPartition, int | BrokerError] = {}
    for topic in response.topics:
        for found in topic.partitions:
            error = error_of("leader epochs", found.error_code)
            answers[TopicPartition(topic.topic, found.partition)] = (
                found.end_offset if error is None else error
            )
    return answers


def fetch_request(
    positions: Sequence[tuple[TopicPartition, int]],
    *,
    partition_bytes_max: int,
    bytes_max: int,
    wait_max_ms: int,
    isolation: Isolation,
    rack: str = "",
    epochs: Mapping[TopicPartition, int] = NO_EPOCHS,
) -> Any:
    """Partitions keep their order: a broker fills its answer in that order, and only the first is
    sure of a batch.
    """
    entry = FetchRequest.FetchTopic.FetchPartition
    topics: list[Any] = []
    for tp, offset in positions:
        if not topics or topics[-1].topic != tp.topic:
            topics.append(FetchRequest.FetchTopic(topic=tp.topic, partitions=[]))
        topics[-1].partitions.append(
            entry(
                partition=tp.partition,
                current_leader_epoch=epochs.get(tp, -1),
                fetch_offset=offset,
                last_fetched_epoch=-1,
                log_start_offset=-1,
                partition_max_bytes=partition_bytes_max,
            )
        )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=wait_max_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=_ISOLATION_LEVELS[isolation],
        session_id=0,
        session_epoch=-1,
        topics=topics,
        forgotten_topics_data=[],
        rack_id=rack,
        max_version=fetch_response.VERSION_MAX,
    )


def fetch_answer(
    response: FetchResponse, isolation: Isolation
) -> BrokerError | list[FetchedPartition]:
    error = error_of("fetch", response.error_code)
    if error is not None:
        return error
    return [
        FetchedPartition(
            partition=TopicPartition(data.topic, data.partition),
            error=error_of("fetch", data.error_code),
            # A broker that knows no transactions (before 0.11) tells no last stable offset.
            end=(
                data.last_stable_offset
                if isolation == "read_committed" and data.last_stable_offset >= 0
                else data.high_watermark
            ),
            records=data.records,
            aborted=data.aborted,
            near_replica=data.near_replica if data.near_replica >= 0 else None,
        )
        for data in response.partitions
    ]


def error_of(request: Request, code: int) -> BrokerError | None:
    meaning = broker_codes.meaning_of(request, code)
    if meaning is Meaning.DONE:
        return None
    name = kafka.errors.for_code(code).__name__.removesuffix("Error")
    return BrokerError(code, name, meaning in _RETRYABLE)
