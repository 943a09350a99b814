from __future__ import annotations

import threading

import pytest

from pyspark_zkgroup.planning.silence import Silence, watch
from tests.fakes.still_clock import StillClock
from tests.harness.waiting import wait_until


class Member:
    """Counts how often it gave up, and notes it if that happened under a call."""

    def __init__(self) -> None:
        self.given_up = 0
        self.busy = False
        self.disturbed = False

    def give_up(self) -> int:
        self.given_up += 1
        self.disturbed |= self.busy
        return 3


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def test_it_warns_at_half_of_the_time_and_gives_up_once_at_the_whole(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    member = Member()
    silence = Silence(10.0, member.give_up, clock)
    with silence.call():
        pass
    clock.now += 4
    assert silence.look() == pytest.approx(1.0)
    assert caplog.messages == []
    clock.now += 1
    assert silence.look() == pytest.approx(5.0)
    silence.look()
    (early,) = caplog.messages
    assert early.startswith("[ZKG-113] ")
    assert early.count(" 5 s") == 2
    clock.now += 5
    silence.look()
    clock.now += 50
    silence.look()
    assert member.given_up == 1
    (late,) = caplog.messages[1:]
    assert late.startswith("[ZKG-103] ")
    assert "for 10 s" in late
    assert "3 partitions" in late


def test_a_call_restarts_the_time(clock: StillClock) -> None:
    member = Member()
    silence = Silence(10.0, member.give_up, clock)
    for _ in range(5):
        with silence.call():
            pass
        clock.now += 9
        silence.look()
    assert member.given_up == 0
    clock.now += 2
    silence.look()
    assert member.given_up == 1
    with silence.call():
        pass
    clock.now += 11
    silence.look()
    assert member.given_up == 2


def test_it_never_gives_up_under_a_call_nor_before_the_first(clock: StillClock) -> None:
    member = Member()
    silence = Silence(10.0, member.give_up, clock)
    clock.now += 100
    silence.look()
    for _ in range(2):
        with silence.call():
            clock.now += 100
            silence.look()
        silence.look()
    assert member.given_up == 0
    with pytest.raises(SystemExit), silence.call():
        raise SystemExit
    clock.now += 10
    silence.look()
    assert member.given_up == 1


def test_it_never_gives_up_once_the_planner_leaves(clock: StillClock) -> None:
    member = Member()
    silence = Silence(10.0, member.give_up, clock)
    with silence.call():
        pass
    clock.now += 100
    with silence.leaving():
        pass
    silence.look()
    assert member.given_up == 0


def test_a_call_waits_for_a_session_that_is_being_ended() -> None:
    ending, may_end = threading.Event(), threading.Event()

    def give_up() -> int:
        ending.set()
        may_end.wait(10)
        return 0

    clock = StillClock()
    silence = Silence(10.0, give_up, clock)
    with silence.call():
        pass
    clock.now += 10
    looking = threading.Thread(target=silence.look)
    looking.start()
    assert ending.wait(10)
    called = threading.Event()

    def call() -> None:
        with silence.call():
            called.set()

    calling = threading.Thread(target=call)
    calling.start()
    assert not called.wait(0.2)
    may_end.set()
    assert called.wait(10)
    looking.join(10)
    calling.join(10)


def test_calls_and_looks_at_the_same_time() -> None:
    """The time is always over, so each look gives up unless a call is under way."""
    member = Member()
    silence = Silence(1e-9, member.give_up)
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            silence.look()

    looking = threading.Thread(target=look)
    looking.start()
    calls = 0

    def enough() -> bool:
        nonlocal calls
        with silence.call():
            member.busy = True
            calls += 1
            done.wait(0.001)
            member.busy = False
        return calls > 200 and member.given_up > 5

    try:
        wait_until(enough, 30, "calls and looks to meet", interval_s=0.0)
    finally:
        done.set()
        looking.join(10)
    assert not member.disturbed


def test_without_a_limit_there_is_no_thread() -> None:
    member = Member()
    silence = Silence(0.0, member.give_up)
    before = threading.active_count()
    watch(silence)
    with silence.call():
        pass
    assert threading.active_count() == before
    with silence.leaving():
        pass


def test_the_thread_gives_up_by_itself_and_ends_with_the_planner() -> None:
    member = Member()
    silence = Silence(0.2, member.give_up)
    watch(silence)
    with silence.call():
        pass
    wait_until(lambda: member.given_up == 1, 10, "the member to give up")
    with silence.leaving():
        pass
    named = "zkgroup-silence"
    wait_until(lambda: all(t.name != named for t in threading.enumerate()), 10, "the thread to end")
