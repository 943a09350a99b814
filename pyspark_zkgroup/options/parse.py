"""The options of the reader, from the texts that Spark hands over to one frozen, checked `Options`:
first names and values one by one, then each concept by itself and with those it depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.options import (
    avro,
    batch_read,
    batch_size,
    brokers,
    columns,
    group,
    kafka_security,
    light,
    protobuf,
    protocol,
    registry,
    starting,
    topics,
    zookeeper,
)
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.missing import Use, check_required
from pyspark_zkgroup.options.option import OldName, Table
from pyspark_zkgroup.ranges.positions import Starting
from pyspark_zkgroup.zk.port import SessionSettings

TABLE: Final = Table(
    (
        zookeeper.SERVERS,
        group.SECTION,
        zookeeper.SESSION,
        protocol.SECTION,
        light.SECTION,
        topics.SECTION,
        starting.SECTION,
        batch_size.SECTION,
        batch_read.SECTION,
        columns.SECTION,
        avro.SECTION,
        protobuf.SECTION,
        registry.SECTION,
        brokers.FETCHING,
        brokers.CONNECTIONS,
        kafka_security.LISTENER,
        kafka_security.LOGIN,
        kafka_security.CERTIFICATES,
        zookeeper.ENCRYPTION,
        zookeeper.CERTIFICATES,
        zookeeper.LOGIN,
    ),
    # Names of the JVM consumers and of Spark's Kafka source. Those that stand for no option are in
    # refusals.py.
    (
        OldName("consumer.id", group.MEMBER_ID),
        OldName("auto.offset.reset", starting.STARTING_OFFSETS, starting.RESET),
        OldName("kafka.group.id", group.GROUP_ID),
        OldName("kafka.client.id", brokers.CLIENT_ID),
        OldName("client.rack", brokers.RACK),
        OldName("socket.receive.buffer.bytes", brokers.RECEIVE_BUFFER),
        OldName("kafka.partition.assignment.strategy", group.STRATEGY, group.ASSIGNORS),
        OldName("kafka.max.poll.interval.ms", group.MAX_POLL_INTERVAL),
        OldName("kafka.exclude.internal.topics", topics.EXCLUDE_INTERNAL),
        OldName("kafka.max.partition.fetch.bytes", brokers.FETCH_BYTES),
        OldName("kafka.fetch.max.bytes", brokers.FETCH_RESPONSE_BYTES),
        OldName("kafka.fetch.max.wait.ms", brokers.FETCH_WAIT),
        OldName("kafka.request.timeout.ms", brokers.REQUEST_TIMEOUT),
        OldName("kafka.metadata.max.age.ms", brokers.METADATA_REFRESH),
        OldName("isolation.level", brokers.ISOLATION),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What one reader was asked for: a value of each concept. No repr shows a secret."""

    zookeeper: SessionSettings
    group: group.Group
    protocol: protocol.ChosenProtocol
    topics: topics.TopicSelection
    starting: Starting
    batches: batch_size.BatchLimits
    batch_read: batch_read.BatchRead
    columns: columns.ColumnOptions
    fetch: FetchSettings


def parse(options: Mapping[str, str], use: Use = "stream") -> Options:
    """OptionError unless every name is known, every value is legal and all of them agree."""
    given = Given(options, TABLE)
    in_batch = use == "batch"
    _check_use(given, use)
    check_required(given, use)
    chosen = protocol.protocol(given)
    session = zookeeper.session_settings(given, has_zookeeper=chosen.has_zookeeper)
    in_kafka = chosen.name == "kafka"
    member = group.group(given, session_timeout_ms=chosen.session_timeout_ms, in_kafka=in_kafka)
    selection = topics.topic_selection(given)
    start = starting.starting(given, selection, in_batch=in_batch)
    return Options(
        zookeeper=session,
        group=member,
        protocol=chosen,
        topics=selection,
        starting=start,
        batches=batch_size.batch_limits(given),
        batch_read=batch_read.batch_read(given, start, selection, in_batch=in_batch),
        columns=columns.column_options(given),
        fetch=brokers.fetch_settings(given, member.id),
    )


def _check_use(given: Given, use: Use) -> None:
    if use == "stream":
        given.refuse(
            [option for option in TABLE.options if option.in_batch == "only"],
            "a stream has no end, and Spark pushes no filters into it",
            "Leave it out of readStream, or use spark.read. A query with "
            "trigger(availableNow=True) ends at today's end",
        )
    elif use == "batch":
        if given.value(protocol.PROTOCOL) == "light":
            raise given.clash(
                protocol.PROTOCOL,
                "a batch read asks no coordinator where the group stands",
                "Give 'zookeeper.connect' in place of the options of light members",
            )
        given.refuse(
            [option for option in TABLE.options if option.in_batch == "refused"],
            "a batch read joins no group, commits nothing and looks at the topics once",
            "Leave it out of spark.read",
        )
