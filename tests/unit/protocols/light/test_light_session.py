"""A light member's session: what it reports of its streams, and how long it waits for answers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest

from pyspark_zkgroup.clock import SystemClock
from pyspark_zkgroup.errors import AccessError, AssignmentError
from pyspark_zkgroup.group.ops import Create, Done, InDoubt, NodeVersion, SetData
from pyspark_zkgroup.protocols.coordinator.rules.commands import Started
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    ChildrenRead,
    Commit,
    Executed,
    Failed,
    Hello,
    NodeRead,
    NodesRead,
    Ping,
    Pong,
    Read,
    Rejected,
    ToCoordinator,
    Told,
    ToMember,
)
from pyspark_zkgroup.protocols.light.rules.permits import PATHS_MAX
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.store import LightStore
from pyspark_zkgroup.protocols.light.stream import Inbox, NotLetInError
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.threads import SystemThreads
from pyspark_zkgroup.zk.port import Children, DisconnectedError, Node, SessionEvent
from tests.harness.waiting import wait_until

HELLO = Hello("g", "g_a", "x" * 32, 40_000)
ANSWERS_S = 5.0


class Clock(SystemClock):
    """Does not wait for the answer to a request: it is there, or never comes."""

    def __init__(self) -> None:
        self.caller = threading.get_ident()
        self.waited_s: list[float] = []

    def next_of(self, events: queue.SimpleQueue[Any], timeout_s: float) -> Any:
        if threading.get_ident() != self.caller:
            return super().next_of(events, timeout_s)
        self.waited_s.append(timeout_s)
        return super().next_of(events, 0.0)


class Stream:
    """`answer` says what the coordinator sends for a message."""

    def __init__(self, inbox: Inbox, answer: Callable[[ToCoordinator], ToMember | None]) -> None:
        self.inbox = inbox
        self.answer = answer
        self.sent: list[ToCoordinator] = []

    def send(self, message: ToCoordinator) -> None:
        self.sent.append(message)
        answer = self.answer(message)
        if answer is not None:
            self.inbox.put(answer)

    def finish(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is under way."""


def accepts(message: ToCoordinator) -> ToMember | None:
    return Accepted(1, 0) if isinstance(message, Hello) else None


class Threads:
    def __init__(self) -> None:
        self.started: list[threading.Thread] = []

    def start(self, run: Callable[[], None], name: str) -> threading.Thread:
        self.started.append(SystemThreads().start(run, name))
        return self.started[-1]

    gate = threading.Lock


class Scene:
    def __init__(
        self,
        first: ToMember | Exception | None = None,
        answer: Callable[[ToCoordinator], ToMember | None] = accepts,
    ) -> None:
        self.events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self.streams: list[Stream] = []
        self.first = first
        self.answer = answer
        settings = LightSettings(("one:1",), StreamAccess(), HELLO)
        self.threads = Threads()
        self.session = LightSession(settings, self.events, self.open, threads=self.threads)

    def open(self, _address: str, _access: StreamAccess, inbox: Inbox) -> Stream:
        if self.first is not None:
            inbox.put(self.first)
        self.streams.append(Stream(inbox, self.answer))
        return self.streams[-1]

    def event(self) -> str:
        return self.events.get(timeout=ANSWERS_S).kind

    def state(self) -> tuple[bool, bool]:
        return self.session.alive, self.session.connected


@contextmanager
def opened(**given: Any) -> Iterator[Scene]:
    scene = Scene(**given)
    scene.session.open()
    try:
        yield scene
    finally:
        scene.session.close()


def test_a_stream_that_breaks_suspends_the_session_until_the_next_one() -> None:
    with opened() as scene:
        assert scene.event() == "connected"
        assert scene.state() == (True, True)
        scene.answer = lambda _message: None
        scene.streams[0].inbox.put(ConnectionError("gone"))
        assert scene.event() == "suspended"
        assert scene.state() == (True, False)
        with pytest.raises(DisconnectedError):
            scene.session.ask(lambda n: Read(n, "sync"))
        wait_until(lambda: len(scene.streams) > 1, ANSWERS_S, "another stream")
        scene.streams[1].inbox.put(Accepted(2, 0))
        assert scene.event() == "connected"
        assert scene.state() == (True, True)


def test_a_closed_session_searches_for_no_other_coordinator() -> None:
    with opened() as scene:
        pass
    scene.streams[-1].inbox.put(ConnectionResetError("reset"))
    (thread,) = scene.threads.started
    thread.join(10)
    assert (thread.is_alive(), len(scene.streams)) == (False, 1)


def test_the_lease_counts_from_the_pong_that_was_heard() -> None:
    """Two more pings are under way when the first pong is acknowledged."""
    with opened() as scene:
        assert scene.session.lease_left_s() < 0.0
        (stream,) = scene.streams
        for ping in (Ping(1, 0), Ping(2, 0), Ping(3, 1)):
            stream.inbox.put(ping)
        wait_until(lambda: Pong(3) in stream.sent, ANSWERS_S, "the last pong")
        assert stream.sent[1:] == [Pong(1), Pong(2), Pong(3)]
        assert 25.0 < scene.session.lease_left_s() < 30.0


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (NotLetInError("no token"), AccessError),
        (Rejected("its group is none", retriable=False), AssignmentError),
    ],
)
def test_a_refusal_ends_the_session(first: ToMember | Exception, error: type[Exception]) -> None:
    scene = Scene(first)
    with pytest.raises(error):
        scene.session.open()
    assert not scene.session.alive
    assert scene.event() == "lost"


def test_a_request_after_one_without_an_answer_is_a_short_probe() -> None:
    """Once the silence is known, requests do not wait for it again and again."""
    scene = Scene()
    scene.session.open()
    try:
        scene.session.exchange.clock = clock = Clock()
        for expected_s in (10.0, 0.1):
            with pytest.raises(DisconnectedError, match="did not answer in time"):
                scene.session.ask(lambda n: Read(n, "sync"))
            assert clock.waited_s.pop() == expected_s
    finally:
        scene.session.exchange.clock = SystemClock()
        scene.session.close()


def test_the_answer_to_a_request_is_that_of_its_number() -> None:
    def answer(message: ToCoordinator) -> ToMember | None:
        return Executed(message.number, ()) if isinstance(message, Read) else accepts(message)

    with opened(answer=answer) as scene:
        asked = scene.session.ask(lambda n: Read(n, "sync"))
        assert asked == Executed(1, ())
        told = Told(Started(Generation(1), 7))
        scene.session.say(told)
        assert scene.streams[0].sent[1:] == [Read(1, "sync"), told]


def test_a_request_that_is_under_way_when_the_stream_breaks_is_in_doubt() -> None:
    with opened() as scene:
        scene.answer = lambda _message: None

        def breaking(number: int) -> ToCoordinator:
            scene.streams[0].inbox.put(ConnectionError("gone"))
            return Read(number, "sync")

        with pytest.raises(DisconnectedError, match="the connection to the coordinator broke"):
            scene.session.ask(breaking)


@pytest.mark.parametrize(
    ("why", "error"),
    [("offline", DisconnectedError), ("forbidden", AccessError), ("taken", None)],
)
def test_a_failed_request_says_why(
    why: Literal["offline", "forbidden", "taken"], error: type[Exception] | None
) -> None:
    def answer(message: ToCoordinator) -> ToMember | None:
        failed = isinstance(message, Read)
        return Failed(1, why, "a reason") if failed else accepts(message)

    with opened(answer=answer) as scene:
        if error is None:
            asked = scene.session.ask(lambda n: Read(n, "sync"))
            assert asked == Failed(1, why, "a reason")
        else:
            with pytest.raises(error, match="a reason"):
                scene.session.ask(lambda n: Read(n, "sync"))


class Asked:
    """A session in whose place the test answers."""

    alive = True

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def ask(self, make: Callable[[int], ToCoordinator]) -> Any:
        self.asked.append(make(len(self.asked) + 1))
        return self.answer(self.asked[-1])


def executed(asked: Commit) -> Executed:
    return Executed(asked.number, tuple(Done(()) for _ in asked.transactions))


@pytest.mark.parametrize(
    ("sizes", "commits"),
    [
        ([10, 10, 10], [3]),
        # Of about a megabyte, and what is written counts twice.
        ([300_000, 300_000, 10], [1, 2]),
        ([200_000, 200_000, 200_000], [2, 1]),
        ([900_000, 10], [1, 1]),
    ],
)
def test_large_transactions_are_sent_in_several_messages(
    sizes: list[int], commits: list[int]
) -> None:
    session: Any = Asked(executed)
    store = LightStore(session)
    outcomes = store.commit([(SetData(f"/{n}", b"x" * size, 0),) for n, size in enumerate(sizes)])
    assert all(isinstance(outcome, Done) for outcome in outcomes)
    assert [len(asked.transactions) for asked in session.asked] == commits


def test_only_what_was_not_answered_is_in_doubt() -> None:
    def answer(asked: Commit) -> Any:
        if asked.number == 1:
            raise DisconnectedError("broke")
        return executed(asked)

    session: Any = Asked(answer)
    large = [(Create(f"/{n}", b"x" * 900_000),) for n in range(2)]
    first, empty, second = LightStore(session).commit([large[0], (), large[1]])
    assert isinstance(first, InDoubt)
    assert isinstance(empty, Done)
    assert isinstance(second, Done)


def test_reads_are_those_of_a_node_without_watches_and_counters() -> None:
    def answer(asked: Any) -> Any:
        if asked.what == "nodes":
            read = NodeRead(b"x", NodeVersion(5, 1), 7, 9)
            return NodesRead(asked.number, tuple(read if p == "/a" else None for p in asked.paths))
        names = tuple(("b", "c") if path == "/a" else None for path in asked.paths)
        return ChildrenRead(asked.number, names)

    session: Any = Asked(answer)
    store = LightStore(session)
    node = Node(b"x", NodeVersion(5, 1), 7, 0, modified=9)
    assert store.nodes(["/a", "/b"]) == store.stats(["/a", "/b"]) == [node, None]
    assert store.children(["/a", "/b"]) == [Children(frozenset("bc"), 0, 0), None]
    assert store.requests == len(session.asked) == 3


def test_an_answer_of_another_kind_or_length_is_none() -> None:
    session: Any = Asked(lambda asked: NodesRead(asked.number, (None,)))
    store = LightStore(session)
    assert store.nodes(["/a"]) == [None]
    for read in (lambda: store.nodes(["/a", "/b"]), lambda: store.children(["/a"])):
        with pytest.raises(DisconnectedError):
            read()


def test_many_paths_are_asked_for_in_parts() -> None:
    session: Any = Asked(lambda asked: NodesRead(asked.number, (None,) * len(asked.paths)))
    LightStore(session).nodes(["/a"] * (PATHS_MAX + 1))
    assert [len(asked.paths) for asked in session.asked] == [PATHS_MAX, 1]
    session.asked.clear()
    LightStore(session).ensure(["/b", "/a"])
    assert [(asked.what, asked.paths) for asked in session.asked] == [("ensure", ("/a", "/b"))]
