"""What the checkers once took for a broken promise, and is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Delete, SetData
from pyspark_zkgroup.model import TopicPartition
from tests.sim.trace import TOPIC, Trace

ONLY = TopicPartition(TOPIC, 0)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("step", ["spark finished", "spark planned"])
def test_an_operator_sets_the_very_value_of_an_unanswered_commit(step: str) -> None:
    """Before it is sent, or while it is in doubt: nothing shows whose write it was, and what comes
    next is read from there, as the operator wants.
    """
    with Trace(partitions=1) as trace:
        driver = trace.begin(trace.query("a", interval_s=0.05))

        def lose() -> None:
            driver.process.access.lose_next = "dropped"
            trace.at(driver.process, "spark planned", set_offset if in_doubt else lambda: None)

        def set_offset() -> None:
            trace.server.write(SetData(trace.paths.offset(ONLY), b"10", -1))

        in_doubt = step == "spark planned"
        trace.at(driver.process, "spark sunk", lambda: trace.produce_each(5))
        trace.at(driver.process, "multi Check /consumers/g/owners/", lose, skip=1)
        if not in_doubt:
            trace.at(driver.process, step, set_offset)
        trace.read_all()
        assert trace.committed() == 15
        assert trace.counts["duplicate"] == 0


def test_a_jvm_member_deletes_a_node_that_another_owns_by_now() -> None:
    """An operator deletes its owner node, A claims the partition, and the JVM member, which looks
    at no version, deletes A's node: what A has in flight may come twice.
    """
    with Trace(partitions=2) as trace:
        trace.new_jvm()
        (jvm,) = trace.cast.jvms
        owner = trace.checkers.owner
        trace.go_until(lambda: len(owner) == 2)
        jvm.process.pause(2.0)
        trace.server.write(Delete(trace.paths.owner(ONLY), -1))
        driver = trace.begin(trace.query("a"))
        trace.at(driver.process, "spark read", lambda: driver.process.pause(3.5))
        trace.go_until(lambda: trace.counts["batch"] == 1)
        trace.go_until(lambda: ONLY not in owner)
        trace.begin(trace.query("0"))
        trace.read_all()
        assert trace.counts["duplicate by a fault"] > 0
