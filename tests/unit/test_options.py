"""Every message is asserted whole: what it says is what the user has to go by."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from pyspark_zkgroup.group.positions import StartingOffsets
from pyspark_zkgroup.group.registration import Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options, parse
from pyspark_zkgroup.options.refusals import FIXED, REFUSED
from pyspark_zkgroup.options.table import OLD_NAMES, TABLE
from tests.given_options import AUTH, LEAST, WITHOUT_TOPICS, refusal


def test_the_least_that_must_be_given_and_every_default() -> None:
    assert parse(LEAST) == Options(
        zookeeper_hosts="zk1:2181",
        zookeeper_chroot="",
        zookeeper_session_timeout_ms=6000,
        zookeeper_connection_timeout_ms=6000,
        zookeeper_auth=(),
        zookeeper_set_acl=False,
        group_id="billing",
        member_id=None,
        checkpoint_location=None,
        strategy="range",
        order="new",
        rebalance_wait_ms=8000,
        max_poll_interval_ms=0,
        subscription=Subscription.static({"orders": 4}),
        exclude_internal_topics=True,
        starting_offsets=StartingOffsets("latest"),
        fail_on_data_loss=True,
        max_offsets_per_trigger=None,
        bootstrap_servers=(),
        client_id="billing",
        metadata_refresh_ms=30000,
        fetch_bytes_max=4194304,
        fetch_response_bytes_max=16777216,
        fetch_wait_max_ms=100,
        request_timeout_ms=30000,
        isolation_level="read_uncommitted",
        include_headers=False,
    )


GIVEN: list[tuple[str, str, dict[str, Any]]] = [
    (
        "zookeeper.connect",
        "zk1, zk2:2182 ,[::1]:2183/kafka/",
        {"zookeeper_hosts": "zk1:2181,zk2:2182,[::1]:2183", "zookeeper_chroot": "/kafka"},
    ),
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
    ("member.id", "pod-0", {"member_id": "pod-0"}),
    ("consumer.id", "pod-0", {"member_id": "pod-0"}),
    ("client.id", "me", {"client_id": "me"}),
    ("kafka.client.id", "me", {"client_id": "me"}),
    ("checkpointLocation", "/c/p", {"checkpoint_location": "/c/p"}),
    ("checkpointLocation", "file:///c/p", {"checkpoint_location": "file:///c/p"}),
    ("partition.assignment.strategy", "RoundRobin", {"strategy": "roundrobin"}),
    ("partition.assignment.order", "old", {"order": "old"}),
    ("rebalance.wait.ms", "0", {"rebalance_wait_ms": 0}),
    ("max.poll.interval.ms", "300000", {"max_poll_interval_ms": 300000}),
    ("kafka.max.poll.interval.ms", "300000", {"max_poll_interval_ms": 300000}),
    ("failOnDataLoss", "False", {"fail_on_data_loss": False}),
    (
        "subscribe",
        " orders,, payments , orders",
        {"subscription": Subscription.static({"orders": 4, "payments": 4})},
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
    ("auto.offset.reset", "smallest", {"starting_offsets": StartingOffsets("earliest")}),
    ("auto.offset.reset", "largest", {"starting_offsets": StartingOffsets("latest")}),
    ("maxOffsetsPerTrigger", str(2**63 - 1), {"max_offsets_per_trigger": 2**63 - 1}),
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
]


@pytest.mark.parametrize(("name", "text", "expected"), GIVEN)
@pytest.mark.parametrize("spelt", [str, str.lower, str.upper])
def test_what_an_option_sets(name: str, text: str, expected: dict[str, Any], spelt: Any) -> None:
    found = parse({**{k: v for k, v in LEAST.items() if k != name}, spelt(name): text})
    others = dataclasses.replace(parse(LEAST), **expected)
    assert found == others


def test_every_option_of_the_table_is_tried_above() -> None:
    tried = {name for name, _, _ in GIVEN}
    patterns = {"subscribePattern", "excludePattern"}
    assert {option.name for option in TABLE} == (tried & {o.name for o in TABLE}) | patterns
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
    assert refusal({**LEAST, refused.name: "1"}) == (
        f"Option {refused.name!r} (given '1') is refused: {refused.why}. {refused.instead}"
    ).replace("given '1'", "given '*****'" if "key" in refused.name else "given '1'")


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
