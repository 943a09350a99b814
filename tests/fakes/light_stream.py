"""Streams between light members and coordinators, without a network. Each direction is in order,
late if the network is silent, and broken if it refuses; the other end learns when one dies.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Protocol, TypeAlias

from pyspark_zkgroup.protocols.light.conversation import Conversation, Outbox, converse
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Commit,
    Hello,
    Leave,
    Read,
    Register,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.stream import Inbox
from tests.fakes.session import Access

_REQUESTS = (Register, Read, Commit, Leave)
_NOTICED_S = 0.3
_SHOWN = 120

Arriving: TypeAlias = "ToCoordinator | Exception | None"


class Around(Protocol):
    """The world that a stream is in."""

    rng: Random

    @property
    def now(self) -> float: ...

    def after(self, seconds: float, act: Callable[[], None]) -> None: ...

    def wake(self) -> None: ...


class Served(Protocol):
    """Who listens at an address."""

    access: Access

    def hear(self, stream: FakeStream) -> None:
        """From now on `stream.serve` runs in a separate thread."""

    def next_of(self, arrived: queue.SimpleQueue[Arriving]) -> Arriving:
        """Waits for it."""

    def greet(self, hello: Hello, outbox: Outbox, caller: Caller) -> Conversation | None: ...


class _Way:
    """One direction. What was sent arrives in order, or not at all."""

    def __init__(self, stream: FakeStream, arrive: Callable[[Any], None]) -> None:
        self.stream = stream
        self.arrive = arrive
        self.shut = self.mute = False
        self._waiting: deque[Any] = deque()
        self._due = 0
        self._last_at = 0.0

    def send(self, item: Any, within_s: float | None = None) -> None:
        if self.shut or self.mute:
            return
        world = self.stream.world
        rng = world.rng
        took_s = _latency(rng) if within_s is None else rng.random() * within_s
        self._last_at = max(self._last_at, world.now + took_s)
        self._waiting.append(item)
        world.after(self._last_at - world.now, self._one_more)

    def end(self, error: Exception | None, within_s: float | None = None) -> None:
        self.send(error, within_s)
        self.shut = True

    def lose_some(self) -> None:
        """What is under way may be lost, from some place on."""
        if self._waiting and self.stream.world.rng.random() < 0.5:
            kept = self.stream.world.rng.randrange(0, len(self._waiting))
            while len(self._waiting) > kept:
                self._waiting.pop()

    def flush(self) -> None:
        while self._due and self._waiting and self.stream.gets_through:
            self._due -= 1
            self.arrive(self._waiting.popleft())

    def _one_more(self) -> None:
        # Of what was lost, too: then there are more turns than messages.
        self._due = min(self._due + 1, len(self._waiting))
        self.flush()


def _latency(rng: Random) -> float:
    draw = rng.random()
    if draw < 0.97:
        return 0.0005 + draw * 0.004
    if draw < 0.995:
        return rng.random() * 0.2
    return rng.random() * 1.5


class FakeOutbox(Outbox):
    """Goes straight into the way to the member."""

    def __init__(self, stream: FakeStream) -> None:
        super().__init__()
        self.stream = stream

    def put(self, message: ToMember) -> None:
        if not self.closed.is_set():
            self.stream.to_member.send(message)

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self.stream.to_member.end(ConnectionError("the stream was closed"))

    def cut(self) -> None:
        self.stream.to_member.lose_some()
        self.close()
        self.stream.arrived.put(ConnectionError("the stream was cut"))
        self.stream.world.wake()


class FakeStream:
    """The member's end, and what the coordinator's end is served by."""

    def __init__(
        self,
        world: Around,
        member: Access,
        served: Served | None,
        inbox: Inbox,
        name: str,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.world = world
        self.member = member
        self.served = served
        self.inbox = inbox
        self.name = name
        self.tell = tell
        self.arrived: queue.SimpleQueue[Arriving] = queue.SimpleQueue()
        self.to_coordinator = _Way(self, self._at_coordinator)
        self.to_member = _Way(self, self._at_member)
        self.outbox = FakeOutbox(self)
        self.broken = False
        self._hold(member)
        if served is None or served.access.dead or self._refused:
            self._refuse()
        else:
            self._hold(served.access)
            served.hear(self)

    def _hold(self, access: Access) -> None:
        # Notified of events of the process, like its sessions with ZooKeeper.
        access.sessions.append(self)  # type: ignore[arg-type]

    # -- the port

    def send(self, message: ToCoordinator) -> None:
        fate = self.member.lose_next
        if fate and isinstance(message, _REQUESTS):
            self.member.lose_next = ""
            self.member.refusals += 1
            if fate == "dropped":
                self.break_()
                return
            # It is executed, and its answer never comes.
            self.to_coordinator.send(message)
            self.to_member.mute = True
            self.world.after(self.world.rng.random(), self.break_)
            return
        self.to_coordinator.send(message)

    def finish(self) -> None:
        self.to_coordinator.end(None)

    def close(self) -> None:
        self.to_member.shut = True
        self.to_coordinator.lose_some()
        self.to_coordinator.end(ConnectionError("cancelled"))
        self._let_go(self.member)

    # -- the coordinator's end

    def serve(self) -> None:
        served = self.served
        assert served is not None
        try:
            converse(self._messages(served), self.outbox, served.greet, Caller())
        except ConnectionError:
            pass
        finally:
            self._let_go(served.access)
            self.outbox.close()

    def _messages(self, served: Served) -> Iterator[ToCoordinator]:
        while (item := served.next_of(self.arrived)) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    # -- what befalls it

    @property
    def gets_through(self) -> bool:
        ways = [self.member.way] + ([self.served.access.way] if self.served else [])
        return all(way == "up" for way in ways)

    @property
    def _refused(self) -> bool:
        ways = [self.member.way] + ([self.served.access.way] if self.served else [])
        return "refused" in ways

    def break_(self) -> None:
        if self.broken:
            return
        self.broken = True
        self.to_member.mute = False
        for way in (self.to_coordinator, self.to_member):
            way.lose_some()
            way.end(ConnectionError("the connection broke"), _NOTICED_S)

    def way_changed(self) -> None:
        """Of either process."""
        served = self.served
        if self.member.dead:
            self.to_coordinator.end(ConnectionError("the member's end is gone"), _NOTICED_S)
        if served is not None and served.access.dead:
            self.to_member.end(ConnectionError("the coordinator's end is gone"), _NOTICED_S)
        if self._refused:
            # Each end sees it for itself, at once or when it next sends something.
            self.broken = True
            for way in (self.to_coordinator, self.to_member):
                if not way.shut:
                    way.shut = True
                    error = ConnectionError("refused")
                    self.world.after(
                        self.world.rng.random() * _NOTICED_S,
                        lambda way=way, error=error: way.arrive(error),  # type: ignore[misc]
                    )
        self.to_coordinator.flush()
        self.to_member.flush()

    def server_changed(self) -> None:
        """ZooKeeper is none of its concern."""

    def _refuse(self) -> None:
        self.to_coordinator.shut = True
        self.to_member.end(ConnectionError("no server listens there"))

    def _let_go(self, access: Access) -> None:
        held: list[Any] = access.sessions
        if self in held:
            held.remove(self)

    def _at_coordinator(self, item: Arriving) -> None:
        self.tell(f"{self.name} -> {_shown(item)}")
        self.arrived.put(item)
        self.world.wake()

    def _at_member(self, item: ToMember | Exception) -> None:
        self.tell(f"{self.name} <- {_shown(item)}")
        self.inbox.put(item)
        self.world.wake()


def _shown(item: object) -> str:
    text = " ".join(str(item).split())
    return f"{text[:_SHOWN]}..." if len(text) > _SHOWN else text
