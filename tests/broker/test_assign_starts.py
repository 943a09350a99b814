"""Where a query of the option `assign` starts to read, on real brokers."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import Group
from tests.harness.producing import produce
from tests.harness.retention import delete_records
from tests.harness.spark_order import Query


def assign(group: Group, topic: str, **more: str) -> Query:
    named = {"assign": json.dumps({topic: [0]})}
    return group.query_of({**group.options(**more), **named})


FIRST_MS, SECOND_MS = 1_700_000_000_000, 1_700_000_001_000
STARTS = {
    "latest": ({"startingOffsets": "latest"}, (6, 6)),
    "times": ({"startingOffsetsByTimestamp": f'{{"0": {FIRST_MS}, "2": {SECOND_MS}}}'}, (0, 3)),
    "a time for all": ({"startingTimestamp": str(SECOND_MS)}, (3, 3)),
}


@pytest.mark.parametrize("fail", ["true", "false"])
@pytest.mark.parametrize("start", STARTS)
def test_every_kind_of_start_holds_for_the_partitions_that_are_read(
    group: Group, start: str, fail: str
) -> None:
    topic = group.topic(3)
    for partition in range(3):
        for at_ms in (FIRST_MS, SECOND_MS):
            tp = TopicPartition(topic, partition)
            produce(group.sandbox.bootstrap_servers, tp, [b"v"] * 3, timestamp_ms=at_ms)
    given, (first, second) = STARTS[start]
    options = {
        name: f'{{"{topic}": {value}}}' if value.startswith("{") else value
        for name, value in given.items()
    }
    named = {"assign": json.dumps({topic: [0, 2]}), "failOnDataLoss": fail}
    query = group.query_of({**group.options(**options), **named})
    query.trigger()
    group.produce(topic, 1)
    query.until(7 - first + 7 - second)
    assert sorted((p, o) for _, p, o in query.rows) == [
        *((0, n) for n in range(first, 7)),
        *((2, n) for n in range(second, 7)),
    ]


def test_a_start_that_is_gone_is_a_loss_like_any_other(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 6})
    starts = json.dumps({topic: {"0": 2}})
    strict = assign(group, topic, startingOffsets=starts)
    with pytest.raises(OptionError, match="below its start"):
        strict.trigger()
    query = assign(group, topic, startingOffsets=starts, failOnDataLoss="false")
    query.until(4)
    assert [o for _, _, o in query.rows] == [6, 7, 8, 9]
    assert query.membership.status()["dataLoss"] == {"events": 1, "records": 4}
