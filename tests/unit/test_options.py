"""Every message is asserted whole: what it says is what the user has to go by."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import (
    Options,
    light_options,
    parse,
    security_options,
    zookeeper_security_options,
)
from pyspark_zkgroup.options.frozen import BatchRead, LightOptions
from pyspark_zkgroup.options.refusals import FIXED, REFUSED
from pyspark_zkgroup.options.table import OLD_NAMES, TABLE
from pyspark_zkgroup.ranges.endings import TO_LATEST
from pyspark_zkgroup.ranges.limits import BatchLimits
from pyspark_zkgroup.ranges.positions import StartingOffsets, StartingTimes
from pyspark_zkgroup.ranges.splitting import Splitting
from pyspark_zkgroup.security import zookeeper_security
from pyspark_zkgroup.security.kafka_security import OPEN
from tests.given_options import AUTH, LEAST, WITHOUT_TOPICS, refusal


def test_the_least_that_must_be_given_and_every_default() -> None:
    assert parse(LEAST) == Options(
        zookeeper_hosts="zk1:2181",
        zookeeper_chroot="",
        zookeeper_session_timeout_ms=6000,
        zookeeper_connection_timeout_ms=6000,
        zookeeper_auth=(),
        zookeeper_set_acl=False,
        zookeeper_security=zookeeper_security.OPEN,
        group_id="billing",
        member_id=None,
        checkpoint_location=None,
        strategy="range",
        protocol="zookeeper",
        coordinator_candidate=True,
        kafka_group=KafkaGroupSettings(),
        light=LightOptions(),
        order="new",
        offsets_storage="zookeeper",
        dual_commit=False,
        rebalance_wait_ms=8000,
        max_poll_interval_ms=0,
        rebalance_callback=None,
        subscription=Subscription.static({"orders": 4}),
        assigned=(),
        exclude_internal_topics=True,
        starting_offsets=StartingOffsets("latest"),
        fail_on_data_loss=True,
        max_offsets_per_trigger=None,
        ends_by_itself=None,
        limits=BatchLimits(),
        splitting=Splitting(),
        batch=BatchRead(TO_LATEST, push_filters=False),
        bootstrap_servers=(),
        client_id="billing",
        metadata_refresh_ms=30000,
        fetch_bytes_max=4194304,
        fetch_response_bytes_max=16777216,
        fetch_wait_max_ms=100,
        request_timeout_ms=30000,
        isolation_level="read_uncommitted",
        include_headers=False,
        poll_timeout_ms=120_000,
        client=ClientSettings(),
        security=OPEN,
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
    *((name, text, {"client": ClientSettings(**expected)}) for name, text, expected in OF_CLIENT),
    ("kafkaConsumer.pollTimeoutMs", "512", {"poll_timeout_ms": 512}),
]

_REPLACED = {"kafka.group.id": "group.id", "assign": "subscribe"}

GIVEN: list[tuple[str, str, dict[str, Any]]] = [
    (
        "zookeeper.connect",
        "zk1, zk2:2182 ,[::1]:2183/kafka/",
        {"zookeeper_hosts": "zk1:2181,zk2:2182,[::1]:2183", "zookeeper_chroot": "/kafka"},
    ),
    ("offsets.storage", " Kafka ", {"offsets_storage": "kafka", "dual_commit": True}),
    ("dual.commit.enabled", "FALSE", {"dual_commit": False}),
    (
        "zookeeper.session.timeout.ms",
        "9000",
        {
            "zookeeper_session_timeout_ms": 9000,
            "zookeeper_connection_timeout_ms": 9000,
            "rebalance_wait_ms": 11000,
        },
    ),
    ("zookeeper.connection.timeout.ms", "1", {"zookeeper_connection_timeout_ms": 1}),
    ("zookeeper.auth", "digest:a:b:c ", {"zookeeper_auth": (("digest", "a:b:c "),)}),
    (
        "zookeeper.auth",
        '["digest:a:b", "own:token"]',
        {"zookeeper_auth": (("digest", "a:b"), ("own", "token"))},
    ),
    ("zookeeper.set.acl", "FALSE", {"zookeeper_set_acl": False}),
    ("group.id", " a.b-c_D1 ", {"group_id": "a.b-c_D1", "client_id": "a.b-c_D1"}),
    ("kafka.group.id", "a.b-c_D1", {"group_id": "a.b-c_D1", "client_id": "a.b-c_D1"}),
    ("member.id", "pod-0", {"member_id": "pod-0"}),
    ("consumer.id", "pod-0", {"member_id": "pod-0"}),
    ("client.id", "me", {"client_id": "me"}),
    ("kafka.client.id", "me", {"client_id": "me"}),
    ("checkpointLocation", "/c/p", {"checkpoint_location": "/c/p"}),
    ("checkpointLocation", "file:///c/p", {"checkpoint_location": "file:///c/p"}),
    ("partition.assignment.strategy", "RoundRobin", {"strategy": "roundrobin"}),
    ("kafka.partition.assignment.strategy", "RoundRobin", {"strategy": "roundrobin"}),
    (
        "kafka.partition.assignment.strategy",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        {"strategy": "roundrobin"},
    ),
    ("partition.assignment.order", "old", {"order": "old"}),
    ("protocol", " Coordinator", {"protocol": "coordinator"}),
    ("rebalance.wait.ms", "0", {"rebalance_wait_ms": 0}),
    ("max.poll.interval.ms", "300000", {"max_poll_interval_ms": 300000}),
    ("kafka.max.poll.interval.ms", "300000", {"max_poll_interval_ms": 300000}),
    ("rebalance.callback", "our.caches:moved", {"rebalance_callback": "our.caches:moved"}),
    ("failOnDataLoss", "False", {"fail_on_data_loss": False}),
    (
        "subscribe",
        " orders,, payments , orders",
        {"subscription": Subscription.static({"orders": 4, "payments": 4})},
    ),
    (
        "assign",
        '{"orders": [2, 0], "b": [1]}',
        {
            "subscription": Subscription.static({"b": 4, "orders": 4}),
            "assigned": (
                TopicPartition("b", 1),
                TopicPartition("orders", 0),
                TopicPartition("orders", 2),
            ),
        },
    ),
    ("threads", "7", {"subscription": Subscription.static({"orders": 7})}),
    ("topic.threads", '{"orders": 9}', {"subscription": Subscription.static({"orders": 9})}),
    ("exclude.internal.topics", "false", {"exclude_internal_topics": False}),
    ("kafka.exclude.internal.topics", "false", {"exclude_internal_topics": False}),
    ("startingOffsets", "Earliest", {"starting_offsets": StartingOffsets("earliest")}),
    (
        "startingOffsets",
        '{"orders": {"10": -1, "2": 7, "0": -2}}',
        {
            "starting_offsets": StartingOffsets(
                None,
                (
                    (TopicPartition("orders", 0), -2),
                    (TopicPartition("orders", 2), 7),
                    (TopicPartition("orders", 10), -1),
                ),
            )
        },
    ),
    ("startingTimestamp", "17", {"starting_offsets": StartingTimes(17)}),
    (
        "startingOffsetsByTimestamp",
        '{"orders": {"1": 0, "0": 17}}',
        {
            "starting_offsets": StartingTimes(
                None, ((TopicPartition("orders", 0), 17), (TopicPartition("orders", 1), 0))
            )
        },
    ),
    ("auto.offset.reset", "smallest", {"starting_offsets": StartingOffsets("earliest")}),
    ("auto.offset.reset", "largest", {"starting_offsets": StartingOffsets("latest")}),
    ("maxOffsetsPerTrigger", str(2**63 - 1), {"max_offsets_per_trigger": 2**63 - 1}),
    ("endsByItself", "false", {"ends_by_itself": False}),
    ("minOffsetsPerTrigger", "100", {"limits": BatchLimits(offsets_min=100)}),
    ("maxBytesPerTrigger", "10m", {"limits": BatchLimits(bytes_max=10 * 1024 * 1024)}),
    ("minPartitions", "64", {"splitting": Splitting(tasks_min=64)}),
    ("maxRecordsPerPartition", "5000", {"splitting": Splitting(rows_max=5000)}),
    (
        "kafka.bootstrap.servers",
        "k1:9092,[::1]:9093",
        {"bootstrap_servers": ("k1:9092", "[::1]:9093")},
    ),
    ("includeHeaders", "true", {"include_headers": True}),
    ("metadata.refresh.ms", "100", {"metadata_refresh_ms": 100}),
    ("kafka.metadata.max.age.ms", "100", {"metadata_refresh_ms": 100}),
    ("fetch.message.max.bytes", "1", {"fetch_bytes_max": 1}),
    ("kafka.max.partition.fetch.bytes", "1", {"fetch_bytes_max": 1}),
    ("kafka.isolation.level", "read_committed", {"isolation_level": "read_committed"}),
    ("isolation.level", "Read_Committed", {"isolation_level": "read_committed"}),
    ("isolation.level", "read_uncommitted", {"isolation_level": "read_uncommitted"}),
    ("fetch.max.bytes", "1", {"fetch_response_bytes_max": 1}),
    ("kafka.fetch.max.bytes", "1", {"fetch_response_bytes_max": 1}),
    ("fetch.wait.max.ms", "29999", {"fetch_wait_max_ms": 29999}),
    ("kafka.fetch.max.wait.ms", "1", {"fetch_wait_max_ms": 1}),
    ("socket.timeout.ms", "101", {"request_timeout_ms": 101}),
    ("kafka.request.timeout.ms", "101", {"request_timeout_ms": 101}),
    *CLIENT,
]


@pytest.mark.parametrize(("name", "text", "expected"), GIVEN)
@pytest.mark.parametrize("spelt", [str, str.lower, str.upper])
def test_what_an_option_sets(name: str, text: str, expected: dict[str, Any], spelt: Any) -> None:
    replaced = {name, _REPLACED.get(name, name)}
    found = parse({**{k: v for k, v in LEAST.items() if k not in replaced}, spelt(name): text})
    others = dataclasses.replace(parse(LEAST), **expected)
    assert found == others


def test_every_option_of_the_table_is_tried_above() -> None:
    tried = {name for name, _, _ in GIVEN}
    # Patterns take the place of 'subscribe'; the delay is refused alone (test_batch_options.py).
    elsewhere = {"subscribePattern", "excludePattern", "maxTriggerDelay"}
    # Times are of no use to a strategy alone, ends and filters of none to a stream
    # (test_position_options.py).
    elsewhere |= {"startingOffsetsByTimestampStrategy", "pushFilters"}
    elsewhere |= {"endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"}
    elsewhere |= {option.name for option in security_options.OPTIONS}  # test_kafka_security.py
    # test_zookeeper_security.py
    elsewhere |= {option.name for option in zookeeper_security_options.OPTIONS}
    elsewhere |= {"coordinator.candidate"}  # test_protocol_options.py
    elsewhere |= {option.name for option in light_options.OPTIONS}  # test_light_options.py
    elsewhere |= {"session.timeout.ms", "heartbeat.interval.ms"}  # test_kafka_group_options.py
    assert {option.name for option in TABLE} == (tried & {o.name for o in TABLE}) | elsewhere
    assert {old.name for old in OLD_NAMES} <= tried


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
    assert parse({**WITHOUT_TOPICS, name: pattern}).subscription == expected


def test_threads_of_single_topics_take_the_place_of_threads() -> None:
    found = parse({**LEAST, "subscribe": "a,b", "threads": "3", "topic.threads": '{"b": 5}'})
    assert found.subscription == Subscription.static({"a": 3, "b": 5})


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
    assert parse(options).starting_offsets == StartingOffsets("earliest")
    assert parse({**LEAST, "Threads": "4", "threads": "4"}) == parse(LEAST)


SECRET = "hunter2"


@pytest.mark.parametrize(
    "options",
    [
        {"zookeeper.auth": SECRET},
        {"zookeeper.auth": f"digest:{SECRET}"},
        {"zookeeper.auth": f'["digest:a:{SECRET}", ]'},
        {"zookeeper.auth": f'["digest:a:{SECRET}", 1]'},
        {"zookeeper.auth": f"sasl:{SECRET}"},
        {"zookeeper.auth": f"di gest:a:{SECRET}"},
        {"zookeeper.auht": f"digest:a:{SECRET}"},
        {"ZooKeeper.Auth": f"digest:a:{SECRET}", "zookeeper.auth": "digest:a:b"},
        {"kafka.sasl.jaas.config": SECRET},
        {"kafka.ssl.key.password": SECRET},
        {"password": SECRET},
    ],
)
def test_no_error_shows_a_secret(options: dict[str, str]) -> None:
    message = refusal({**LEAST, **options})
    assert SECRET not in message
    assert "'*****'" in message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has an entry that is not a scheme, a colon and a credential"),
        ("digest:user", "has a digest entry without a user, a colon and a password"),
        ("digest::p", "has a digest entry without a user, a colon and a password"),
        ("world:anyone", "has an entry whose scheme comes with the connection itself"),
        ("[]", "has no entry"),
        ("[1", "starts with '[' but is not JSON"),
    ],
)
def test_what_is_wrong_with_credentials(text: str, why: str) -> None:
    message = f"Option 'zookeeper.auth' is '*****', which {why}. Allowed: {AUTH}"
    assert refusal({**LEAST, "zookeeper.auth": text}) == message


def test_the_repr_shows_no_secret_and_a_copy_is_equal() -> None:
    options = parse({**LEAST, "zookeeper.auth": f"digest:a:{SECRET}", "zookeeper.set.acl": "true"})
    assert SECRET not in repr(options)
    assert "billing" in repr(options)
    assert pickle.loads(pickle.dumps(options)) == options


def test_names_are_told_apart_without_case() -> None:
    names = [
        *(option.name.lower() for option in TABLE),
        *(old.name.lower() for old in OLD_NAMES),
        *(fixed.name.lower() for fixed in FIXED),
        *(refused.name.lower() for refused in REFUSED),
    ]
    assert len(set(names)) == len(names)


def test_a_start_is_given_only_for_partitions_that_are_assigned() -> None:
    options = {**WITHOUT_TOPICS, "assign": '{"orders": [0, 2]}'}
    message = refusal({**options, "startingOffsets": '{"orders": {"0": 1, "1": 1, "2": 1}}'})
    assert "which names orders-1, but 'assign' is" in message
    assert message.endswith("Name only partitions that are read")
