"""The one table of options: name, rule, default and text. Case does not matter in names.

`TABLE` has the options, in the order of the page. `OLD_NAMES` are names of the JVM consumers and of
Spark's Kafka source that stand for one of them. Names that are known but not options are in
refusals.py. docs/options.md is made from all of these.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark_zkgroup.options import (
    batch_options,
    batch_read_options,
    client_options,
    group_options,
    kafka_options,
    light_options,
    protocol_options,
    reading_options,
    security_options,
    starting_values,
    topic_options,
    values,
    zookeeper_security_options,
)
from pyspark_zkgroup.options.option import OldName, Option

TABLE: Final[tuple[Option[Any], ...]] = (
    *group_options.OPTIONS,
    *protocol_options.OPTIONS,
    *light_options.OPTIONS,
    *topic_options.OPTIONS,
    *reading_options.OPTIONS,
    *batch_options.OPTIONS,
    *batch_read_options.OPTIONS,
    *kafka_options.OPTIONS,
    *client_options.OPTIONS,
    *security_options.OPTIONS,
    *zookeeper_security_options.OPTIONS,
)

OLD_NAMES: Final[tuple[OldName[Any], ...]] = (
    OldName("consumer.id", group_options.MEMBER_ID),
    OldName("auto.offset.reset", reading_options.STARTING_OFFSETS, starting_values.RESET),
    OldName("kafka.group.id", group_options.GROUP_ID),
    OldName("kafka.client.id", kafka_options.CLIENT_ID),
    OldName("client.rack", client_options.RACK),
    OldName("socket.receive.buffer.bytes", client_options.RECEIVE_BUFFER),
    OldName("kafka.partition.assignment.strategy", group_options.STRATEGY, values.ASSIGNORS),
    OldName("kafka.max.poll.interval.ms", group_options.MAX_POLL_INTERVAL),
    OldName("kafka.exclude.internal.topics", topic_options.EXCLUDE_INTERNAL),
    OldName("kafka.max.partition.fetch.bytes", kafka_options.FETCH_BYTES),
    OldName("kafka.fetch.max.bytes", kafka_options.FETCH_RESPONSE_BYTES),
    OldName("kafka.fetch.max.wait.ms", kafka_options.FETCH_WAIT),
    OldName("kafka.request.timeout.ms", kafka_options.REQUEST_TIMEOUT),
    OldName("kafka.metadata.max.age.ms", kafka_options.METADATA_REFRESH),
    OldName("isolation.level", kafka_options.ISOLATION),
)
