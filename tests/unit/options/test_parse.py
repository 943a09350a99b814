"""Every message is asserted whole: what it says is what the user has to go by."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import (
    Options,
    avro,
    kafka_security,
    light,
    parse,
    protobuf,
    registry,
    zookeeper,
)
from pyspark_zkgroup.options.batch_read import BatchRead
from pyspark_zkgroup.options.batch_size import BatchLimits
from pyspark_zkgroup.options.columns import ColumnOptions
from pyspark_zkgroup.options.group import Group
from pyspark_zkgroup.options.light import LightOptions
from pyspark_zkgroup.options.parse import TABLE
from pyspark_zkgroup.options.protocol import ChosenProtocol
from pyspark_zkgroup.options.refusals import FIXED, REFUSED
from pyspark_zkgroup.options.topics import TopicSelection
from pyspark_zkgroup.ranges.endings import TO_LATEST
from pyspark_zkgroup.ranges.positions import StartingOffsets, StartingTimes
from pyspark_zkgroup.ranges.splitting import Splitting
from pyspark_zkgroup.security.kafka_security import OPEN
from pyspark_zkgroup.zk.port import SessionSettings
from tests.harness.given_options import LEAST, WITHOUT_TOPICS, refusal


def test_the_least_that_must_be_given_and_every_default() -> None:
    assert parse(LEAST) == Options(
        zookeeper=SessionSettings("zk1:2181", "", timeout_ms=6000, connection_timeout_ms=6000),
        group=Group(
            id="billing",
            member_id=None,
            checkpoint_location=None,
            strategy="range",
            balanced=True,
            order="new",
            offsets_storage="zookeeper",
            dual_commit=False,
            rebalance_wait_ms=8000,
            max_poll_interval_ms=0,
            rebalance_callback=None,
        ),
        protocol=ChosenProtocol(
            name="zookeeper",
            is_candidate=True,
            session_timeout_ms=6000,
            kafka=KafkaGroupSettings(),
            light=LightOptions(),
            by_default="'protocol' is zookeeper by default",
        ),
        topics=TopicSelection(Subscription.static({"orders": 4}), (), exclude_internal=True),
        starting=StartingOffsets("latest"),
        batches=BatchLimits(
            offsets_max=None,
            bytes_max=None,
            offsets_min=None,
            delay_max_ms=15 * 60 * 1000,
            ends_by_itself=None,
            splitting=Splitting(),
        ),
        batch_read=BatchRead(TO_LATEST, push_filters=False),
        columns=ColumnOptions(),
        fetch=FetchSettings(
            bootstrap=(),
            client_id="billing",
            fetch_bytes_max=4194304,
            response_bytes_max=16777216,
            fetch_wait_max_ms=100,
            request_timeout_ms=30000,
            deadline_s=120.0,
            isolation="read_uncommitted",
            fail_on_data_loss=True,
            client=ClientSettings(),
            security=OPEN,
        ),
    )


OF_CLIENT: list[tuple[str, str, dict[str, Any]]] = [
    ("kafka.client.rack", "eu-1a", {"rack": "eu-1a"}),
    ("client.rack", "eu-1a", {"rack": "eu-1a"}),
    ("fetchOffset.numRetries", "0", {"look_up_retries": 0}),
    ("fetchOffset.retryIntervalMs", "10", {"look_up_pause_ms": 10}),
    ("kafka.retry.backoff.ms", "100", {"retry_backoff_ms": 100}),
    (
        "kafka.retry.backoff.ms",
        "5000",
        {"retry_backoff_ms": 5000, "retry_backoff_max_ms": 5000},
    ),
    ("kafka.retry.backoff.max.ms", "50", {"retry_backoff_max_ms": 50}),
    ("kafka.reconnect.backoff.ms", "51", {"reconnect_backoff_ms": 51}),
    ("kafka.reconnect.backoff.max.ms", "9000", {"reconnect_backoff_max_ms": 9000}),
    ("kafka.socket.connection.setup.timeout.ms", "9000", {"connect_timeout_ms": 9000}),
    ("kafka.connections.max.idle.ms", "60000", {"idle_max_ms": 60000}),
    ("kafka.send.buffer.bytes", "131072", {"send_buffer_bytes": 131072}),
    ("kafka.send.buffer.bytes", "-1", {"send_buffer_bytes": None}),
    ("kafka.receive.buffer.bytes", "65536", {"receive_buffer_bytes": 65536}),
    ("socket.receive.buffer.bytes", "65536", {"receive_buffer_bytes": 65536}),
    (
        "kafka.client.dns.lookup",
        "resolve_canonical_bootstrap_servers_only",
        {"dns_lookup": "resolve_canonical_bootstrap_servers_only"},
    ),
]
CLIENT: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (name, text, {"fetch.client": ClientSettings(**expected)})
        for name, text, expected in OF_CLIENT
    ),
    ("kafkaConsumer.pollTimeoutMs", "512", {"fetch.deadline_s": 0.512}),
]

ROUND_ROBIN = {"group.strategy": "roundrobin", "group.balanced": False}
_REPLACED = {"kafka.group.id": "group.id", "assign": "subscribe"}

GIVEN: list[tuple[str, str, dict[str, Any]]] = [
    (
        "zookeeper.connect",
        "zk1, zk2:2182 ,[::1]:2183/kafka/",
        {"zookeeper.hosts": "zk1:2181,zk2:2182,[::1]:2183", "zookeeper.chroot": "/kafka"},
    ),
    ("offsets.storage", " Kafka ", {"group.offsets_storage": "kafka", "group.dual_commit": True}),
    ("dual.commit.enabled", "FALSE", {"group.dual_commit": False}),
    (
        "zookeeper.session.timeout.ms",
        "9000",
        {
            "zookeeper.timeout_ms": 9000,
            "protocol.session_timeout_ms": 9000,
            "zookeeper.connection_timeout_ms": 9000,
            "group.rebalance_wait_ms": 11000,
        },
    ),
    ("zookeeper.connection.timeout.ms", "1", {"zookeeper.connection_timeout_ms": 1}),
    ("zookeeper.auth", "digest:a:b:c ", {"zookeeper.auth": (("digest", "a:b:c "),)}),
    (
        "zookeeper.auth",
        '["digest:a:b", "own:token"]',
        {"zookeeper.auth": (("digest", "a:b"), ("own", "token"))},
    ),
    ("zookeeper.set.acl", "FALSE", {"zookeeper.set_acl": False}),
    ("group.id", " a.b-c_D1 ", {"group.id": "a.b-c_D1", "fetch.client_id": "a.b-c_D1"}),
    ("kafka.group.id", "a.b-c_D1", {"group.id": "a.b-c_D1", "fetch.client_id": "a.b-c_D1"}),
    ("member.id", "pod-0", {"group.member_id": "pod-0"}),
    ("consumer.id", "pod-0", {"group.member_id": "pod-0"}),
    ("client.id", "me", {"fetch.client_id": "me"}),
    ("kafka.client.id", "me", {"fetch.client_id": "me"}),
    ("checkpointLocation", "/c/p", {"group.checkpoint_location": "/c/p"}),
    ("checkpointLocation", "file:///c/p", {"group.checkpoint_location": "file:///c/p"}),
    (
        "partition.assignment.strategy",
        "RoundRobin",
        ROUND_ROBIN,
    ),
    (
        "kafka.partition.assignment.strategy",
        "RoundRobin",
        ROUND_ROBIN,
    ),
    (
        "kafka.partition.assignment.strategy",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        ROUND_ROBIN,
    ),
    ("partition.assignment.order", "old", {"group.order": "old"}),
    ("protocol", " Coordinator", {"protocol.name": "coordinator", "protocol.by_default": ""}),
    ("rebalance.wait.ms", "0", {"group.rebalance_wait_ms": 0}),
    ("max.poll.interval.ms", "300000", {"group.max_poll_interval_ms": 300000}),
    ("kafka.max.poll.interval.ms", "300000", {"group.max_poll_interval_ms": 300000}),
    ("rebalance.callback", "our.caches:moved", {"group.rebalance_callback": "our.caches:moved"}),
    ("failOnDataLoss", "False", {"fetch.fail_on_data_loss": False}),
    (
        "subscribe",
        " orders,, payments , orders",
        {"topics.subscription": Subscription.static({"orders": 4, "payments": 4})},
    ),
    (
        "assign",
        '{"orders": [2, 0], "b": [1]}',
        {
            "topics.subscription": Subscription.static({"b": 4, "orders": 4}),
            "topics.assigned": (
                TopicPartition("b", 1),
                TopicPartition("orders", 0),
                TopicPartition("orders", 2),
            ),
        },
    ),
    ("threads", "7", {"topics.subscription": Subscription.static({"orders": 7})}),
    ("topic.threads", '{"orders": 9}', {"topics.subscription": Subscription.static({"orders": 9})}),
    ("exclude.internal.topics", "false", {"topics.exclude_internal": False}),
    ("kafka.exclude.internal.topics", "false", {"topics.exclude_internal": False}),
    ("startingOffsets", "Earliest", {"starting": StartingOffsets("earliest")}),
    (
        "startingOffsets",
        '{"orders": {"10": -1, "2": 7, "0": -2}}',
        {
            "starting": StartingOffsets(
                None,
                (
                    (TopicPartition("orders", 0), -2),
                    (TopicPartition("orders", 2), 7),
                    (TopicPartition("orders", 10), -1),
                ),
            )
        },
    ),
    ("startingTimestamp", "17", {"starting": StartingTimes(17)}),
    (
        "startingOffsetsByTimestamp",
        '{"orders": {"1": 0, "0": 17}}',
        {
            "starting": StartingTimes(
                None, ((TopicPartition("orders", 0), 17), (TopicPartition("orders", 1), 0))
            )
        },
    ),
    ("auto.offset.reset", "smallest", {"starting": StartingOffsets("earliest")}),
    ("auto.offset.reset", "largest", {"starting": StartingOffsets("latest")}),
    ("maxOffsetsPerTrigger", str(2**63 - 1), {"batches.offsets_max": 2**63 - 1}),
    ("endsByItself", "false", {"batches.ends_by_itself": False}),
    ("minOffsetsPerTrigger", "100", {"batches.offsets_min": 100}),
    ("maxBytesPerTrigger", "10m", {"batches.bytes_max": 10 * 1024 * 1024}),
    ("minPartitions", "64", {"batches.splitting": Splitting(tasks_min=64)}),
    ("maxRecordsPerPartition", "5000", {"batches.splitting": Splitting(rows_max=5000)}),
    (
        "kafka.bootstrap.servers",
        "k1:9092,[::1]:9093",
        {"fetch.bootstrap": ("k1:9092", "[::1]:9093")},
    ),
    ("includeHeaders", "true", {"columns.include_headers": True}),
    ("key.format", "string", {"columns.key_format": "string"}),
    ("value.format", "JSON", {"columns.value_format": "json"}),
    ("json.timeZone", "+01:00", {"columns.time_zone": "+01:00"}),
    ("bad.records", "Permissive", {"columns.bad_records": "permissive"}),
    ("metadata.refresh.ms", "100", {"fetch.client.metadata_refresh_ms": 100}),
    ("kafka.metadata.max.age.ms", "100", {"fetch.client.metadata_refresh_ms": 100}),
    ("fetch.message.max.bytes", "1", {"fetch.fetch_bytes_max": 1}),
    ("kafka.max.partition.fetch.bytes", "1", {"fetch.fetch_bytes_max": 1}),
    ("kafka.isolation.level", "read_committed", {"fetch.isolation": "read_committed"}),
    ("isolation.level", "Read_Committed", {"fetch.isolation": "read_committed"}),
    ("isolation.level", "read_uncommitted", {"fetch.isolation": "read_uncommitted"}),
    ("fetch.max.bytes", "1", {"fetch.response_bytes_max": 1}),
    ("kafka.fetch.max.bytes", "1", {"fetch.response_bytes_max": 1}),
    ("fetch.wait.max.ms", "29999", {"fetch.fetch_wait_max_ms": 29999}),
    ("kafka.fetch.max.wait.ms", "1", {"fetch.fetch_wait_max_ms": 1}),
    ("socket.timeout.ms", "101", {"fetch.request_timeout_ms": 101}),
    ("kafka.request.timeout.ms", "101", {"fetch.request_timeout_ms": 101}),
    *CLIENT,
]


def with_field(value: Any, field: str, new: Any) -> Any:
    """`field` may be one of a value inside: "group.id"."""
    name, _, rest = field.partition(".")
    return dataclasses.replace(
        value, **{name: with_field(getattr(value, name), rest, new) if rest else new}
    )


@pytest.mark.parametrize(("name", "text", "expected"), GIVEN)
@pytest.mark.parametrize("spelt", [str, str.lower, str.upper])
def test_what_an_option_sets(name: str, text: str, expected: dict[str, Any], spelt: Any) -> None:
    replaced = {name, _REPLACED.get(name, name)}
    found = parse({**{k: v for k, v in LEAST.items() if k not in replaced}, spelt(name): text})
    others: Any = parse(LEAST)
    for field, value in expected.items():
        others = with_field(others, field, value)
    assert found == others


def test_every_option_of_the_table_is_tried_above() -> None:
    tried = {name for name, _, _ in GIVEN}
    # Patterns take the place of 'subscribe'; the delay is refused alone (test_batch_size.py).
    elsewhere = {"subscribePattern", "excludePattern", "maxTriggerDelay"}
    # Times are of no use to a strategy alone, ends and filters of none to a stream
    # (test_starting.py).
    elsewhere |= {"startingOffsetsByTimestampStrategy", "pushFilters"}
    elsewhere |= {"endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"}
    # test_avro.py, test_protobuf.py
    elsewhere |= {option.name for one in (avro, protobuf, registry) for option in one.SECTION}
    elsewhere |= {option.name for option in kafka_security.OPTIONS}  # test_kafka_security.py
    # test_zookeeper.py
    elsewhere |= {option.name for option in zookeeper.SECURITY}
    elsewhere |= {"coordinator.candidate"}  # test_protocol.py
    elsewhere |= {option.name for option in light.SECTION}  # test_light.py
    elsewhere |= {"session.timeout.ms", "heartbeat.interval.ms"}  # test_protocol_kafka.py
    assert {option.name for option in TABLE.options} == (
        tried & {option.name for option in TABLE.options}
    ) | elsewhere
    assert {old.name for old in TABLE.old_names} <= tried


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("subscribePattern", "ord.*", Subscription.white_list("ord.*", 4)),
        ("subscribePattern", " 'a3, b5 ,x-1' ", Subscription.white_list("a3|b5|x-1", 4)),
        ("excludePattern", "tmp-.*", Subscription.black_list("tmp-.*", 4)),
    ],
)
def test_a_pattern_is_cleaned_as_the_jvm_cleans_it(
    name: str, pattern: str, expected: Subscription
) -> None:
    assert parse({**WITHOUT_TOPICS, name: pattern}).topics.subscription == expected


def test_threads_of_single_topics_take_the_place_of_threads() -> None:
    found = parse({**LEAST, "subscribe": "a,b", "threads": "3", "topic.threads": '{"b": 5}'})
    assert found.topics.subscription == Subscription.static({"a": 3, "b": 5})


@pytest.mark.parametrize("added", ["path", "provider", "owner", "option.threads"])
def test_what_spark_adds_is_passed_over(added: str) -> None:
    assert parse({**LEAST, added: "anything"}) == parse(LEAST)


@pytest.mark.parametrize("fixed", FIXED, ids=lambda fixed: fixed.name)
def test_a_fixed_option_has_one_value(fixed: Any) -> None:
    assert parse({**LEAST, fixed.name: f" {fixed.value.upper()} "}) == parse(LEAST)
    assert refusal({**LEAST, fixed.name: "other"}) == (
        f"Option {fixed.name!r} is 'other', which is refused: {fixed.why}. {fixed.instead}"
    )


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.name)
def test_a_refused_option_says_why_and_what_instead(refused: Any) -> None:
    is_secret = "key" in refused.name or "password" in refused.name
    assert refusal({**LEAST, refused.name: "1"}) == (
        f"Option {refused.name!r} (given '1') is refused: {refused.why}. {refused.instead}"
    ).replace("given '1'", f"given {'*****' if is_secret else '1'!r}")


def test_two_names_of_one_option_may_agree() -> None:
    options = {**LEAST, "auto.offset.reset": "smallest", "startingOffsets": "earliest"}
    assert parse(options).starting == StartingOffsets("earliest")
    assert parse({**LEAST, "Threads": "4", "threads": "4"}) == parse(LEAST)


def test_names_are_compared_without_case() -> None:
    names = [
        *(option.name.lower() for option in TABLE.options),
        *(old.name.lower() for old in TABLE.old_names),
        *(fixed.name.lower() for fixed in FIXED),
        *(refused.name.lower() for refused in REFUSED),
    ]
    assert len(set(names)) == len(names)


def test_a_start_is_given_only_for_partitions_that_are_assigned() -> None:
    options = {**WITHOUT_TOPICS, "assign": '{"orders": [0, 2]}'}
    message = refusal({**options, "startingOffsets": '{"orders": {"0": 1, "1": 1, "2": 1}}'})
    assert "which names orders-1, but 'assign' is" in message
    assert message.endswith("Name only partitions that are read")
