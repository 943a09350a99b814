from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.kafka.signals import HeldSignals


class StopError(BaseException):
    pass


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """SIGTERM raises StopError, once; SIGINT is only noted."""
    numbers: list[int] = []

    def end(number: int, _frame: object) -> None:
        numbers.append(number)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise StopError

    before = (
        signal.signal(signal.SIGTERM, end),
        signal.signal(signal.SIGINT, lambda number, _frame: numbers.append(number)),
    )
    yield numbers
    signal.signal(signal.SIGTERM, before[0])
    signal.signal(signal.SIGINT, before[1])


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_waits_until_it_is_delivered(handled: list[int]) -> None:
    woken = []
    with HeldSignals(lambda: woken.append(1)) as held:
        send(signal.SIGINT)
        assert (handled, woken) == ([], [1])
        held.deliver()
        assert handled == [signal.SIGINT]
        send(signal.SIGINT)
        assert handled == [signal.SIGINT]
    assert handled == [signal.SIGINT] * 2
    send(signal.SIGINT)
    assert handled == [signal.SIGINT] * 3


def test_what_a_handler_raises_comes_out_at_the_delivery(handled: list[int]) -> None:
    with HeldSignals(lambda: None) as held:
        send(signal.SIGTERM)
        assert handled == []
        with pytest.raises(StopError):
            held.deliver()
    assert handled == [signal.SIGTERM]


def test_what_a_handler_raises_comes_out_at_the_end(handled: list[int]) -> None:
    with pytest.raises(StopError), HeldSignals(lambda: None):
        send(signal.SIGTERM)
    assert handled == [signal.SIGTERM]


def test_the_handler_that_a_handler_sets_stays(handled: list[int]) -> None:
    with pytest.raises(StopError), HeldSignals(lambda: None):
        send(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_signals_without_a_handler_are_left_as_they_are(handled: list[int]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with HeldSignals(lambda: None):
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_other_threads_leave_signals_alone(handled: list[int]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def other() -> None:
        with HeldSignals(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [before]
