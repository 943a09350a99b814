from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pyspark_zkgroup.errors import BadZnodeError, SubscriptionError
from pyspark_zkgroup.jvm.java_json import parse_jackson, parse_scala
from pyspark_zkgroup.jvm.registration import (
    THREADS_MAX,
    Registration,
    Subscription,
    encode_registration,
    parse_registration,
)

PATH = "/consumers/g/ids/c"


def test_static_bytes_are_those_of_a_jvm_consumer() -> None:
    registration = Registration(Subscription.static({"t7": 2, "a3": 1}), "1795198465568")
    assert encode_registration(registration) == (
        b'{"version":1,"subscription":{"t7":2,"a3":1},"pattern":"static",'
        b'"timestamp":"1795198465568"}'
    )


def test_a_list_is_escaped_once() -> None:
    registration = Registration(Subscription.white_list(r"wl\.\w+", 2), "1")
    assert encode_registration(registration) == (
        b'{"version":1,"subscription":{"wl\\\\.\\\\w+":2},"pattern":"white_list","timestamp":"1"}'
    )


@pytest.mark.parametrize(
    "registration",
    [
        Registration(Subscription.static({"t": 1}), "5", "range", "new"),
        Registration(Subscription.black_list("a|b", 3), "5", "roundrobin", "old", static_id=True),
        Registration(Subscription.static({"t": 1}), "5"),
    ],
)
def test_what_is_written_can_be_read(registration: Registration) -> None:
    data = encode_registration(registration)
    assert parse_registration(PATH, data) == registration
    for value in (parse_scala(data.decode()), parse_jackson(data.decode(), True)):
        assert value["pattern"] == registration.subscription.pattern
        assert tuple(value["subscription"].items()) == registration.subscription.entries


def test_our_own_keys_hold_texts_only() -> None:
    registration = Registration(Subscription.static({"t": 1}), "5", "range", "new", static_id=True)
    own = json.loads(encode_registration(registration))["zkgroup"]
    assert own == {"strategy": "range", "order": "new", "static": "true"}
    announced = encode_registration(replace(registration, balanced=True))
    assert json.loads(announced)["zkgroup"]["balanced"] == "true"
    assert parse_registration("/r", announced).balanced
    assert not parse_registration("/r", encode_registration(registration)).balanced


def test_only_zkgroup_members_have_a_strategy() -> None:
    jvm = Registration(Subscription.static({"t": 1}), "5")
    assert not jvm.is_zkgroup
    assert replace(jvm, strategy="range", order="new").is_zkgroup


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ "pattern":"static", "subscription":{ "t": 1 }}', Subscription("static", (("t", 1),))),
        ('{"pattern":"other","subscription":{"t":1}}', Subscription("static", (("t", 1),))),
        ('{"pattern":"white_list","subscription":{}}', Subscription("static", ())),
        ('{"pattern":"white_list","subscription":{"a":1,"b":2}}', Subscription.white_list("a", 1)),
        (
            '{"pattern":"black_list","subscription":{"a":2},"x":1.5,"timestamp":123456789012}',
            Subscription.black_list("a", 2),
        ),
        # What 1.0.1 and later make of a stray backslash.
        (
            r'{"pattern":"white_list","subscription":{"a\.b":1}}',
            Subscription.white_list(r"a\.b", 1),
        ),
    ],
)
def test_what_jvm_members_let_pass(text: str, expected: Subscription) -> None:
    assert parse_registration(PATH, text.encode()).subscription == expected


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"garbage",
        b"[]",
        b"{}",
        b'{"pattern":"static"}',
        b'{"subscription":{"t":1}}',
        b'{"pattern":1,"subscription":{"t":1}}',
        b'{"pattern":"static","subscription":["t"]}',
        b'{"pattern":"static","subscription":{"t":0}}',
        b'{"pattern":"static","subscription":{"t":1.0}}',
        b'{"pattern":"static","subscription":{"t":true}}',
        b'{"pattern":"static","subscription":{"t":"1"}}',
        b'{"pattern":"static","subscription":{"t":NaN}}',
        b'{"pattern":"static","subscription":{"t":2147483647}}',
        b'{"pattern":"static","subscription":{"t":1},"zkgroup":"range"}',
        b'{"pattern":"static","subscription":{"t":1},"zkgroup":{"strategy":1}}',
        b"[" * 100_000,
    ],
)
def test_what_no_consumer_writes_is_named(data: bytes | None) -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_registration(PATH, data)


@pytest.mark.parametrize("threads", [0, -1, THREADS_MAX + 1, True])
def test_a_number_of_threads_has_bounds(threads: int) -> None:
    with pytest.raises(SubscriptionError, match="threads"):
        Subscription.static({"t": threads})


@pytest.mark.parametrize("topic", ["", "a b", "a/b", ".."])
def test_our_own_topics_have_legal_names(topic: str) -> None:
    with pytest.raises(SubscriptionError, match="not a valid topic name"):
        Subscription.static({topic: 1})


def test_a_subscription_is_checked_when_built() -> None:
    with pytest.raises(SubscriptionError, match="no topic"):
        Subscription.static({})
    with pytest.raises(SubscriptionError, match="twice"):
        Subscription("static", (("a", 1), ("a", 2)))
    with pytest.raises(SubscriptionError, match="single expression"):
        Subscription("white_list", (("a", 1), ("b", 1)))
    with pytest.raises(ValueError, match="no expression"):
        _ = Subscription.static({"t": 1}).expression
