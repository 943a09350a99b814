"""Logs that are lost under a query that speaks with the brokers over the wire."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_zkgroup.group.ops import Create, Delete
from pyspark_zkgroup.model import TopicPartition
from tests.sim.query import Driver
from tests.sim.trace import TOPIC, Trace

P = TopicPartition(TOPIC, 0)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def recreate_topic(trace: Trace, driver: Driver, records: int) -> None:
    trace.checkers.cut(driver, P, 0, trace.kafka.logs[P].latest)
    trace.kafka.delete_topic(TOPIC)
    trace.kafka.make_topic(TOPIC, 1)
    trace.checkers.made_at[TOPIC] = trace.world.now
    trace.kafka.produce(P, records)
    path, node = f"/brokers/topics/{TOPIC}", trace.kafka.topic_node(TOPIC)
    trace.server.write(Delete(path, -1), Create(path, node))


OPTIONS: Any = {"failOnDataLoss": "false", "maxOffsetsPerTrigger": "5"}


def test_the_losses_of_a_recreated_topic_are_counted_also_if_zookeeper_reports_it_first() -> None:
    """The member finds the topic's new node at its boundary, and goes back to the start of the new
    log. How much of the old one was left, only the ends tell that it has seen there.
    """
    with Trace(partitions=1, records=20, wired=True) as trace:
        query = trace.query("a", interval_s=1.5, **OPTIONS)
        driver = trace.begin(query)
        trace.at(driver.process, "spark sunk", lambda: recreate_topic(trace, driver, 30), skip=1)
        trace.read_all()
        assert trace.world.violation is None
        assert trace.committed() == 30
        assert driver.membership.losses.records == 10


@pytest.mark.parametrize(("skip", "records"), [(1, 0), (2, 15), (3, 15), (4, 10)])
def test_a_recreated_topic_is_found_once_also_if_its_id_shows_it_first(
    skip: int, records: int
) -> None:
    """Made between the look at the group and the look at the logs: the planner goes back at once.
    At the next look its node in ZooKeeper is another one, and what was read since is of the new
    log already.
    """
    with Trace(partitions=1, records=20, wired=True) as trace:
        query = trace.query("a", interval_s=1.5, **OPTIONS)
        driver = trace.begin(query)
        trace.at(
            driver.process, "kafka metadata", lambda: recreate_topic(trace, driver, 30), skip=skip
        )
        trace.read_all()
        assert trace.world.violation is None
        assert trace.committed() == 30
        assert driver.membership.losses.events == (0 if skip == 1 else 1)
        assert driver.membership.losses.records == records
        assert trace.counts["duplicate"] == 0


def test_a_task_asks_another_broker_before_it_takes_a_log_for_short() -> None:
    """The broker that its process knows as the leader is cut off from the controller, and answers
    on. The range was planned from what the new leader has.
    """
    with Trace(partitions=1, records=10, wired=True) as trace:
        query = trace.query("a", failOnDataLoss="false")
        driver = trace.begin(query)
        trace.read_all()
        log = trace.kafka.logs[P]
        trace.kafka.leave_behind(P)
        trace.kafka.produce(P, 15)
        trace.read_all()
        assert trace.committed() == log.latest == 25
        assert driver.view.lost == 0  # type: ignore[union-attr]
        assert log.former is not None
