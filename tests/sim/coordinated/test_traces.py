"""What the seeds have found, and a coordinator's end at every step of a rebalance, by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Delete
from pyspark_zkgroup.model import TopicPartition
from tests.sim.coordinated.trace import CoordinatedTrace
from tests.sim.trace import TOPIC

FIRST = TopicPartition(TOPIC, 0)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_an_offset_that_is_set_in_mid_batch_is_read_on_from() -> None:
    """The commit is refused and the partition dropped. Only its reader is commanded to read it, so
    if that one does not take it up again, no member ever does.
    """
    with CoordinatedTrace(partitions=2, records=20) as trace:
        trace.new_candidate()
        driver = trace.begin(trace.query("a"))
        trace.read_all()
        trace.go(5.0)  # nothing is left that would make it look again
        trace.kafka.produce(FIRST, 5)
        trace.at(driver.process, "spark sunk", lambda: trace.operator.set_offset(FIRST, 7))
        trace.go_until(lambda: trace.committed() == 7)
        trace.go_until(lambda: trace.committed() == 25)
        assert driver.membership.holdings.dropped == 1


def test_an_owner_node_that_is_deleted_in_mid_batch_is_claimed_again() -> None:
    with CoordinatedTrace(partitions=2, records=20) as trace:
        trace.new_candidate()
        driver = trace.begin(trace.query("a"))
        trace.read_all()
        trace.go(5.0)
        trace.kafka.produce(FIRST, 5)
        owner = trace.paths.owner(FIRST)
        trace.at(driver.process, "spark sunk", lambda: trace.server.write(Delete(owner, -1)))
        trace.go_until(lambda: trace.committed() == 25)
        trace.kafka.produce(FIRST, 5)
        trace.go_until(lambda: trace.committed() == 30)
        assert trace.checkers.owner.keys() == set(trace.kafka.logs)


@pytest.mark.parametrize("within", [True, False], ids=["at once", "after its session"])
def test_the_coordinator_dies_at_every_step_of_a_rebalance(within: bool) -> None:
    """One member joins and one leaves; the coordinator is killed at its n-th step from then on,
    until there is no n-th step any more.
    """
    killed = step = 0
    while killed == step:
        with CoordinatedTrace(partitions=4, records=4) as trace:
            trace.following_s = 0.1 if within else 6.0
            office = trace.new_candidate()
            a, b, c = (trace.query(name) for name in "abc")
            leaver = trace.begin(a)
            trace.begin(b)
            trace.go_until_shared(2, 2)
            trace.at(office.process, "candidate ", office.process.kill, skip=step)
            a.ended = True
            trace.begin(c)
            leaver.drain.asked = True
            trace.go_until(lambda leaver=leaver: leaver.drain.acknowledged)  # type: ignore[misc]
            leaver.stop()
            trace.go_until_gone(leaver)
            trace.go_until_shared(2, 2)
            trace.read_all()
            killed += office.process.driver_dead
            assert trace.counts["duplicate"] == 0
        step += 1
    assert step > 8


def test_a_coordinator_that_wakes_up_after_its_session_sends_no_command() -> None:
    """Two believe to be it. The older one's session has ended, so ZooKeeper takes no command of it,
    and it begins again.
    """
    with CoordinatedTrace(partitions=4, records=4) as trace:
        office = trace.new_candidate()
        a, b = trace.begin(trace.query("a")), trace.query("b")
        trace.go_until_shared(4)
        trace.at(office.process, "candidate ", lambda: office.process.pause(12.0))
        trace.begin(b)
        trace.go_until(lambda: office.process.access.paused)
        trace.new_candidate()
        trace.go_until_shared(2, 2)
        assert trace.counts["election"] == 2
        trace.go(12.0)
        assert trace.counts["start of one out of office"] == 0
        assert trace.shares() == [2, 2]
        assert a.membership.holdings.dropped == 0


def test_a_slow_member_holds_up_only_what_it_must_give_up() -> None:
    """A's batch takes half a minute. What B gives up for C does not wait for it."""
    with CoordinatedTrace(partitions=6, records=4) as trace:
        trace.new_candidate()
        a, b = trace.query("a"), trace.query("b")
        slow, quick = trace.begin(a), trace.begin(b)
        trace.go_until_shared(3, 3)
        trace.read_all()
        a.batch_s = 30.0
        for partition in sorted(trace.kafka.logs):
            trace.kafka.produce(partition, 3)
        trace.go_until(lambda: bool(a.batches) and not a.batches[-1].finished)
        newcomer = trace.begin(trace.query("c"))
        began = trace.world.now
        trace.go_until(lambda: len(newcomer.membership.holdings.held) == 1)
        assert trace.world.now - began < 10.0
        assert (len(slow.membership.holdings.held), len(quick.membership.holdings.held)) == (3, 2)
        trace.go_until_shared(2, 2, 2)
