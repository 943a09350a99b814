"""What the seeds have found, and a coordinator's end at every step of a rebalance, by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sim.light import comebacks, crossed_hellos
from tests.sim.light.trace import LightTrace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _dies_in_a_rebalance(step: int, following_s: float) -> bool:
    """One member joins and one leaves; the coordinator is killed at its n-th step from then on.
    False where there is no such step.
    """
    with LightTrace(partitions=4, records=4) as trace:
        trace.following_s = following_s
        office = trace.new_candidate()
        a, b, c = (trace.query(name) for name in "abc")
        leaver = trace.begin(a)
        trace.begin(b)
        trace.go_until_shared(2, 2)
        trace.at(office.process, "candidate ", office.process.kill, skip=step)
        a.ended = trace.restarting = True
        trace.begin(c)
        leaver.drain.asked = True
        trace.go_until(lambda: leaver.drain.acknowledged)
        leaver.stop()
        trace.go_until_gone(leaver)
        trace.go_until_shared(2, 2)
        trace.read_all()
        return office.process.driver_dead


@pytest.mark.parametrize("following_s", [0.1, 6.0], ids=["at once", "after its session"])
def test_the_coordinator_dies_in_a_rebalance(following_s: float) -> None:
    assert all(_dies_in_a_rebalance(step, following_s) for step in range(0, 48, 12))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("following_s", [0.1, 6.0], ids=["at once", "after its session"])
def test_the_coordinator_dies_at_every_step_of_a_rebalance(following_s: float) -> None:
    step = 0
    while _dies_in_a_rebalance(step, following_s):
        step += 1
    assert step > 40


@pytest.mark.parametrize("skip", range(4))
def test_what_follows_the_registration_is_not_answered(skip: int) -> None:
    """The member is registered, and never learns under which life it receives its assignment."""
    with LightTrace(partitions=4, records=4) as trace:
        trace.new_candidate()
        driver = trace.begin(trace.query("a"))
        lose = driver.process.access

        def at_the_registration() -> None:
            trace.at(driver.process, "", lambda: setattr(lose, "lose_next", "dropped"), skip)

        trace.at(driver.process, "register", at_the_registration)
        trace.go_until_shared(4)
        trace.read_all()


def test_two_successors_of_a_static_member_fence_each_other_and_one_continues() -> None:
    """Both have its plan, and come while its last life is still registered. With a gate for each of
    their streams, each would wait for the other's, and the coordinator for both.
    """
    with LightTrace(partitions=4, records=40) as trace:
        trace.new_candidate()
        query = trace.query("a", static=True, batch_s=0.5)
        query.twins = True
        first = trace.begin(query)
        trace.go_until(lambda: bool(query.batches) and not query.batches[-1].finished)
        first.process.kill()
        trace.go_until_gone(first)
        ones = [trace.begin(query), trace.begin(query)]
        trace.go_until(lambda: any(driver.gone for driver in ones))
        trace.restarting = True
        trace.go_until_shared(4)
        trace.read_all()


@pytest.mark.parametrize("late_s", [0.2, 3.6, 3.8, 3.9, 4.0, 4.2])
def test_a_static_member_comes_back_while_its_last_life_is_being_ended(late_s: float) -> None:
    """Its registration and owner nodes are taken over, or gone, but never half of each."""
    with LightTrace(partitions=4, records=4) as trace:
        trace.new_candidate()
        query = trace.query("a", static=True)
        first = trace.begin(query)
        trace.go_until_shared(4)
        trace.at(first.process, "spark logged", first.process.kill)
        trace.go_until_gone(first)
        trace.go(late_s)
        trace.begin(query)
        trace.go_until_shared(4)
        trace.read_all()


def test_a_static_member_comes_back_twice_as_its_last_life_ends() -> None:
    with LightTrace(partitions=4, records=4) as trace:
        trace.new_candidate()
        comebacks.begin_with(trace, trace.begin(trace.query("a", static=True)))
        trace.go_until(lambda: trace.counts["back as its last life ends"] == 1)
        trace.go_until_shared(4)
        trace.read_all()


def test_the_newest_stream_receives_the_commands_whichever_was_greeted_last() -> None:
    with LightTrace(partitions=4, records=4) as trace:
        trace.new_candidate()
        a: Any = trace.begin(trace.query("a"))
        b = trace.begin(trace.query("b"))
        trace.go_until_shared(2, 2)
        crossed_hellos.begin_with(trace, a)
        trace.go_until(lambda: trace.counts["hellos crossed"] == 1)
        trace.go(3.0)
        b.stop()
        trace.go_until_shared(4)
        trace.read_all()


def test_who_is_silent_for_less_than_its_timeout_keeps_what_it_holds() -> None:
    """Also where the coordinator is another one by then."""
    with LightTrace(partitions=4, records=4, session_ms=6000) as trace:
        office = trace.new_candidate()
        silent, other = trace.begin(trace.query("a")), trace.begin(trace.query("b"))
        trace.go_until_shared(2, 2)
        held = set(silent.membership.holdings.held)
        silent.process.cut(9.0, silent=True)
        office.process.kill()
        trace.go(8.0)
        assert set(other.membership.holdings.held).isdisjoint(held)
        session: Any = silent.membership.keeper.session
        trace.go_until(lambda: bool(session.connected))
        trace.go_until_shared(2, 2)
        assert set(silent.membership.holdings.held) == held
        assert trace.counts["life ended"] == 0
        assert trace.counts["duplicate"] == 0
