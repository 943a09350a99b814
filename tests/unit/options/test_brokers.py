"""A default never contradicts a value that was given: it gives way."""

from __future__ import annotations

import re

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.parse import TABLE

LEAST = {
    "zookeeper": {"zookeeper.connect": "zk1"},
    "kafka": {"protocol": "kafka", "kafka.bootstrap.servers": "k1"},
    "light": {"protocol": "light", "coordinator.addresses": "c1:1", "kafka.bootstrap.servers": "k"},
}
NUMBERS = [
    (option.name, value)
    for option in TABLE.options
    if (found := re.fullmatch(r"a whole number.* from (\d+) to (\d+)", option.rule.allowed))
    for value in found.groups()
]


@pytest.mark.parametrize("protocol", LEAST)
@pytest.mark.parametrize(("name", "value"), NUMBERS)
def test_no_number_contradicts_a_default(protocol: str, name: str, value: str) -> None:
    options = {**LEAST[protocol], "group.id": "g", "subscribe": "t"}
    refusal = ""
    try:
        parse({**options, name: value})
    except OptionError as error:
        # Some are of use to one protocol only, and no protocol gives way to them.
        refusal = error.what.replace("'protocol' is zookeeper by default", "")
    assert "by default" not in refusal


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"socket.timeout.ms": "100"}, (50, 100)),
        ({"socket.timeout.ms": "1"}, (0, 1)),
        ({"socket.timeout.ms": "101"}, (100, 101)),
        ({"fetch.wait.max.ms": "30000"}, (30_000, 60_000)),
        ({}, (100, 30_000)),
    ],
)
def test_how_long_an_answer_is_waited_for(given: dict[str, str], expected: tuple[int, int]) -> None:
    found = parse({**LEAST["zookeeper"], "group.id": "g", "subscribe": "t", **given})
    assert (found.fetch.fetch_wait_max_ms, found.fetch.request_timeout_ms) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kafka.retry.backoff.max.ms": "20"}, (20, 20)),
        ({"kafka.retry.backoff.ms": "5000"}, (5000, 5000)),
        ({"kafka.retry.backoff.max.ms": "60"}, (50, 60)),
    ],
)
def test_the_pauses_between_two_tries(given: dict[str, str], expected: tuple[int, int]) -> None:
    found = parse({**LEAST["zookeeper"], "group.id": "g", "subscribe": "t", **given})
    assert (
        found.fetch.client.retry_backoff_ms,
        found.fetch.client.retry_backoff_max_ms,
    ) == expected
