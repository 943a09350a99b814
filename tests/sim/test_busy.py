"""A query with data in every trigger: the planner never asks it whether anything has changed."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Delete, SetData
from pyspark_zkgroup.model import TopicPartition
from tests.sim.query import Driver
from tests.sim.trace import TOPIC, Trace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _keep_busy(trace: Trace, driver: Driver, number: int) -> None:
    """A record for each of its triggers, in a partition that it holds."""
    trace.kafka.produce(TopicPartition(TOPIC, number), 1)
    trace.at(driver.process, "spark logged", lambda: _keep_busy(trace, driver, number))


def test_a_busy_query_reads_partitions_that_appear() -> None:
    """Brokers without ZooKeeper: no watch tells of new partitions, only the next look."""
    with Trace(partitions=2) as trace:
        trace.server.write(Delete("/brokers/ids/1", -1))
        driver = trace.begin(trace.query("a", metadata_refresh_ms="1000"))
        trace.go_until(lambda: trace.counts["batch"] == 1)
        _keep_busy(trace, driver, 0)
        trace.kafka.grow(TOPIC, 4)
        trace.kafka.produce(TopicPartition(TOPIC, 3), 5)
        trace.go_until(lambda: trace.committed(3) == 5, seconds=10.0)


def test_a_busy_query_notices_an_offset_node_that_was_repaired() -> None:
    with Trace(partitions=2) as trace:
        trace.server.make(trace.paths.offset(TopicPartition(TOPIC, 1)), b"not an offset")
        driver = trace.begin(trace.query("a"))
        trace.go_until(lambda: trace.counts["batch"] == 1)
        _keep_busy(trace, driver, 0)
        trace.go(2.0)
        trace.server.write(SetData(trace.paths.offset(TopicPartition(TOPIC, 1)), b"0", -1))
        trace.go_until(lambda: trace.committed(1) == 10, seconds=20.0)
