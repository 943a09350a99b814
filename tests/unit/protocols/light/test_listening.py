"""The port of a coordinator that serves light members: the two real ends of a stream."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.protocols.coordinator.candidate import Watching
from pyspark_zkgroup.protocols.light import server
from pyspark_zkgroup.protocols.light.call import Call
from pyspark_zkgroup.protocols.light.conversation import NotAdmittedError, Outbox
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.listening_candidate import LightOffice
from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Elsewhere, Hello, ToMember
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.protocols.light.stream import NotLetInError
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionSettings
from tests.fakes.still_clock import StillClock
from tests.harness.waiting import wait_until

HELLO = Hello("g", "g_a", "x" * 32, 1000)
ANSWERS_S = 10.0


def elsewhere(_hello: Hello, outbox: Outbox, _caller: Caller) -> None:
    outbox.put(Elsewhere("other:1", "other"))


def foreign(_hello: Hello, _outbox: Outbox, _caller: Caller) -> None:
    raise NotAdmittedError("g")


@contextmanager
def listening(greet: Callable[..., None]) -> Iterator[Listener]:
    listener = Listener("127.0.0.1:0", StreamAccess(), greet, 4)
    try:
        yield listener
    finally:
        listener.close()


def streamed(listener: Listener) -> list[ToMember | Exception]:
    """What a stream that says hello receives until its end."""
    inbox: queue.SimpleQueue[ToMember | Exception] = queue.SimpleQueue()
    call = Call(f"127.0.0.1:{listener.port}", StreamAccess(), inbox)
    call.send(HELLO)
    found = [inbox.get(timeout=ANSWERS_S)]
    while not isinstance(found[-1], Exception):
        found.append(inbox.get(timeout=ANSWERS_S))
    call.close()
    return found


def test_a_stream_ends_without_an_error_after_what_it_was_sent() -> None:
    with listening(elsewhere) as listener:
        message, end = streamed(listener)
    assert message == Elsewhere("other:1", "other")
    assert isinstance(end, ConnectionError)
    assert str(end) == "the stream was closed"


def test_a_client_of_another_group_is_refused() -> None:
    with listening(foreign) as listener:
        (end,) = streamed(listener)
    assert isinstance(end, NotLetInError)


def test_a_closed_port_is_free_and_leaves_no_threads() -> None:
    def serving() -> list[str]:
        names = [thread.name for thread in threading.enumerate()]
        return [name for name in names if name.startswith("zkgroup-light_")]

    with listening(elsewhere) as first:
        streamed(first)
        assert serving()
    wait_until(lambda: not serving(), ANSWERS_S, "the threads of the port to end")
    second = Listener(f"127.0.0.1:{first.port}", StreamAccess(), elsewhere, 1)
    assert second.port == first.port
    second.close()


def test_a_silent_client_does_not_keep_its_place_or_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers: list[Timer] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, act: Callable[[], None]) -> None:
            self.seconds, self.act = seconds, act
            self.calls: list[tuple[str, bool]] = []
            timers.append(self)

        def start(self) -> None:
            self.calls.append(("start", self.daemon))

        def cancel(self) -> None:
            self.calls.append(("cancel", self.daemon))

    monkeypatch.setattr(threading, "Timer", Timer)
    heard: list[None] = []
    listener: Any = SimpleNamespace(
        refusals=RefusalLog(StillClock()), greet=elsewhere, heard=lambda: heard.append(None)
    )
    outbox = Outbox()
    server._Reader(iter(()), None, outbox, listener, Caller()).run()
    (timer,) = timers
    assert timer.calls == [("start", True), ("cancel", True)]
    assert timer.act == outbox.close
    assert outbox.closed.is_set()
    assert len(heard) == 1


def test_a_candidate_that_listens_serves_members_at_its_address() -> None:
    settings = SessionSettings("zk1:2181", "", 5000, 5000)
    for advertised in ("", "outside:7000"):
        desk = LightDesk()
        office = LightOffice(
            settings, "one", Watching(), desk, "127.0.0.1:0", StreamAccess(), advertised
        )
        try:
            assert desk.is_served
            assert office.address == (advertised or f"127.0.0.1:{office.listener.port}")
            assert office.candidate.candidacy.address == office.address
        finally:
            office.listener.close()
