from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.jvm.topics import legal_name, parse_topic

PATH = "/brokers/topics/t"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"version":1,"partitions":{"0":[1],"1":[1]}}', (0, 1)),
        (
            b'{"partitions":{"10":[1],"2":[1],"0":[]},"topic_id":"x","adding_replicas":{},'
            b'"removing_replicas":{},"version":3}',
            (0, 2, 10),
        ),
        (b'{"version":1}', ()),
        (b"", ()),
        (None, ()),
    ],
)
def test_partitions_of_all_versions(data: bytes | None, expected: tuple[int, ...]) -> None:
    assert parse_topic(PATH, data) == expected


@pytest.mark.parametrize(
    "data",
    [b"garbage", b"[]", b'{"partitions":[0]}', b'{"partitions":{"-1":[1]}}', b"\xff", b"1"],
)
def test_what_no_broker_writes_is_named(data: bytes) -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_topic(PATH, data)


def test_legal_names() -> None:
    assert all(map(legal_name, ["a", "orders.eu-west_1", "_x", "x" * 249]))
    assert not any(map(legal_name, ["", ".", "..", "a b", "a/b", "é", "x" * 250]))


@pytest.mark.parametrize("number", ["99999999999", "9" * 5000])
def test_a_partition_has_a_number_that_can_be(number: str) -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_topic(PATH, b'{"partitions":{"%s":[1]}}' % number.encode())


def test_a_nested_value_is_named_as_what_no_broker_writes() -> None:
    with pytest.raises(BadZnodeError, match=PATH):
        parse_topic(PATH, b"[" * 100_000)
