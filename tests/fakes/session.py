"""A client's session with the fake ZooKeeper: connections that break, answers that are lost, and a
server that counts the silence.

Both sides of it are here and kept apart: what the server knows (`heard_at`, `expired`) and what the
client believes (`connected`, `alive`, the lease). They differ for as long as nothing gets through.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Protocol

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.zk.session import (
    _LEASE_MARGIN,
    _PROBE_S,
    _REQUEST_S_MIN,
    _REQUEST_SHARE,
    DisconnectedError,
    Session,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)
from tests.fakes.zookeeper import FakeZookeeper, Replica, Time

_LEASE_SHARE = 1.0 - _LEASE_MARGIN
_PINGS_PER_TIMEOUT = 3.0
_NOTICED_AFTER = 2.0 / 3.0

Way = Literal["up", "refused", "silent"]


class Steps(Time, Protocol):
    """Where a request is sent, other things may happen; and a client may have to wait."""

    def step(self, what: str) -> None: ...

    def wait(self, seconds: float, until: Callable[[], bool]) -> None: ...

    def wake(self) -> None:
        """Wake the actors that wait."""


@dataclass
class Access:
    """One process's way to ZooKeeper. `lose_next`: what becomes of its next request."""

    way: Way = "up"
    paused: bool = False
    dead: bool = False
    lose_next: Literal["", "executed", "dropped", "late"] = ""
    clock_rate: float = 1.0
    sessions: list[FakeSession] = field(default_factory=list)
    refusals: int = 0
    """How often it could not be used: an actor that then fails has a reason."""

    def set_way(self, way: Way) -> None:
        self.way = way
        self.changed()

    def pause(self, paused: bool) -> None:
        self.paused = paused
        self.changed()

    def die(self) -> None:
        self.dead = True
        self.changed()

    def changed(self) -> None:
        for session in list(self.sessions):
            session.way_changed()


class FakeSession(Session):
    def __init__(
        self,
        server: FakeZookeeper,
        world: Steps,
        access: Access,
        rng: Random,
        settings: SessionSettings,
        events: queue.SimpleQueue[SessionEvent],
    ) -> None:
        self.settings = settings
        self.events = events
        self.server = server
        self.world = world
        self.access = access
        self.rng = rng
        self.id = 0
        self.replica: Replica = server.leader
        self.timeout_s = settings.timeout_ms / 1000.0
        self.heard_at = self.proved_at = self.opened_at = world.now
        self._lost = False
        self._connected = False
        self._closed = False
        self.forced = False
        self.multi_at = float("-inf")
        self._silent_at: float | None = None
        self._turn = 0
        self._seen = 0
        self._beating = False
        self._late: list[Callable[[bool], None]] = []
        self._orphaned: list[Callable[[bool], None]] = []
        self._inbox: list[str] = []

    # -- the port

    def open(self) -> None:
        self.world.step("open")
        give_up_at = self.world.now + self.settings.connection_timeout_ms / 1000.0
        while not self._gets_through:
            self.access.refusals += 1
            left = give_up_at - self.world.now
            if left <= 0:
                raise ServerError(
                    f"ZooKeeper at {self.settings.hosts} did not answer within "
                    f"{self.settings.connection_timeout_ms} ms",
                    "Check zookeeper.connect and that a server runs there, "
                    "or raise zookeeper.connection.timeout.ms",
                )
            self.world.wait(left, lambda: self._gets_through)
            self.world.step("open")
        self.id = self.server.new_session()
        self.opened_at = self.world.now
        self.access.sessions.append(self)
        self._connect()
        chroot = self.settings.chroot
        if chroot and chroot not in self.replica.nodes:
            self.close()
            raise ServerError(
                f"The chroot {chroot} of zookeeper.connect does not exist on {self.settings.hosts}",
                "Use the path that the brokers use; consumers do not create it",
            )

    @property
    def alive(self) -> bool:
        return bool(self.id) and not self._lost

    @property
    def connected(self) -> bool:
        return self.alive and self._connected

    @property
    def negotiated_timeout_s(self) -> float:
        return self.timeout_s

    @property
    def request_timeout_s(self) -> float:
        if self.proved_at == self._silent_at:
            return _PROBE_S
        return max(_REQUEST_S_MIN, self.timeout_s * _REQUEST_SHARE)

    def lease_left_s(self) -> float:
        self._beat()
        spent = (self.world.now - self.proved_at) * self.access.clock_rate
        return self.timeout_s * _LEASE_SHARE - spent

    def ask(self, answer: Any, timeout_s: float | None = None) -> Any:
        return answer()

    def acl(self) -> None:
        return None

    def close(self) -> None:
        lost, self._lost = self._lost, True
        if self._closed or self.access.dead:
            return
        self._closed = True
        if lost or not self._connected or not self._gets_through:
            self.access.refusals += 1
            self._drop(tell=False)
        else:
            self.world.step("close")
            self._drop(tell=False)
            self.server.end_session(self.id, closed=True)
        if self.id in self.server.ended and self in self.access.sessions:
            self.access.sessions.remove(self)

    # -- requests

    def call(self, what: str, execute: Callable[[], Any]) -> Any:
        self.world.step(what)
        if self._lost:
            raise SessionLostError(f"session {self.id:#x} has ended")
        if not self._connected:
            self.access.refusals += 1
            raise DisconnectedError("ConnectionLoss")
        sent = self.world.now
        if not self._gets_through:
            return self._unanswered(sent, execute)
        if self.id in self.server.ended:
            self._drop()
            self.world.after(self.rng.random() * 0.1, self._end)
            raise DisconnectedError("ConnectionLoss")
        if self.access.lose_next:
            fate, self.access.lose_next = self.access.lose_next, ""
            if fate == "executed":
                execute()
            self.access.refusals += 1
            self._drop()
            self._reconnect_soon()
            raise DisconnectedError("ConnectionLoss")
        result = execute()
        self._answered(sent)
        if self.rng.random() < 0.15:
            self.world.step("answer")
            if self._lost or not self._connected:
                raise DisconnectedError("ConnectionLoss")
        return result

    def _answered(self, sent: float) -> None:
        self.heard_at = self.world.now
        self.proved_at = max(self.proved_at, sent)
        self._seen = max(self._seen, self.replica.applied)
        if self._inbox:
            self._flush()

    def _unanswered(self, sent: float, execute: Callable[[], Any]) -> Any:
        """The request is in some buffer. It may arrive later than its sender waits for it."""
        self.access.refusals += 1
        got: list[Any] = []

        def arrive(heard: bool) -> None:
            if self.id not in self.server.ended:
                got.append(execute())
                if heard:
                    self._answered(sent)

        self._late.append(arrive)
        self.world.wait(self.request_timeout_s, lambda: bool(got) or not self._connected)
        if got:
            return got[0]
        self._silent_at = self.proved_at
        raise DisconnectedError("no answer in time")

    def watched(self, path: str) -> None:
        """A watch has fired: the event travels, and kazoo's thread puts it on the queue."""
        self._inbox.append(path)
        self.world.after(self.rng.random() ** 4 * 0.2, self._flush)

    def _flush(self) -> None:
        if self._inbox and self._gets_through and self._connected:
            for path in self._inbox:
                self.events.put(SessionEvent("changed", path))
            self._inbox.clear()
            self.world.wake()

    # -- how it lives and ends

    @property
    def _gets_through(self) -> bool:
        access = self.access
        return self.server.up and access.way == "up" and not access.paused and not access.dead

    def way_changed(self) -> None:
        """The process's connection to the server, or the server, has changed."""
        if self.id in self.server.ended and (self._lost or self.access.dead):
            return
        through = self._gets_through
        if through:
            orphaned, self._orphaned = self._orphaned, []
            for arrive in orphaned:
                arrive(False)
        if through and not self._connected and not self._closed:
            self._reconnect_soon()
        elif through and not self._closed:
            late, self._late = self._late, []
            for arrive in late:
                arrive(True)
            if self.id in self.server.ended:
                self.world.after(self.rng.random() * 0.2, self._end)
            else:
                self._start_beating()
        elif not through:
            self._stop_beating()
            refused = not self.server.up or self.access.way == "refused"
            if self._connected and refused and not (self.access.paused or self.access.dead):
                self._drop()

    def server_changed(self) -> None:
        """The server is back: it starts to count every session's silence again."""
        if self.server.up:
            self.heard_at = self.world.now
        self.way_changed()
        if self.server.up and not self._beating:
            self._count_silence()

    def expire(self) -> None:
        """End the session at the server although it is alive: no lease can know of this."""
        self.forced = True
        self.server.end_session(self.id)
        self._turn += 1
        self._beating = False
        if self._gets_through and not self._lost:
            self._drop()
            self.world.after(self.rng.random() * 0.2, self._end)
        else:
            # That the server is silent the client finds out by itself, ended or not.
            self._notice_silence()

    def _beat(self) -> None:
        if self._beating:
            interval = self.timeout_s / _PINGS_PER_TIMEOUT
            passed = self.world.now - self.opened_at
            ping = self.opened_at + passed // interval * interval
            self.heard_at = max(self.heard_at, ping)
            self.proved_at = max(self.proved_at, ping)

    def _start_beating(self) -> None:
        if not self._beating:
            self._beating = True
            self._turn += 1
            self.heard_at = self.world.now
            self.proved_at = max(self.proved_at, self.world.now)
            self._flush()

    def _stop_beating(self) -> None:
        if self._beating:
            self._beat()
            self._beating = False
            self._count_silence()
            self._notice_silence()

    def _notice_silence(self) -> None:
        if self.access.way == "silent" and not self.access.paused and not self.access.dead:
            turn = self._turn
            noticed_at = self.heard_at + self.timeout_s * _NOTICED_AFTER
            self.world.after(max(0.0, noticed_at - self.world.now), lambda: self._notice(turn))

    def _notice(self, turn: int) -> None:
        if turn == self._turn and self._connected:
            self._drop()

    def _count_silence(self) -> None:
        self._turn += 1
        turn = self._turn
        tick_s = self.timeout_s * 0.1 * self.rng.random()
        left_s = self.heard_at + self.timeout_s + tick_s - self.world.now
        self.world.after(max(0.0, left_s), lambda: self._time_out(turn))

    def _time_out(self, turn: int) -> None:
        if turn == self._turn and self.server.up and not self._beating:
            self.server.end_session(self.id)
            if self._gets_through and not self._lost and not self._connected:
                self.world.after(self.rng.random() * 0.2, self._end)

    def _drop(self, tell: bool = True) -> None:
        """The connection is gone, its watches and what was under way with it."""
        was, self._connected = self._connected, False
        # What was sent may still arrive: the kernel continues to send it.
        if self.rng.random() < 0.5:
            self._orphaned += self._late
        self._late.clear()
        self._inbox.clear()
        for replica in self.server.replicas:
            replica.drop_watches(lambda watcher: getattr(watcher, "__self__", None) is self)
        if self._beating:
            self._beat()
            self._beating = False
            self._count_silence()
        if was and tell:
            self.events.put(SessionEvent("suspended"))
            self.world.wake()

    def _reconnect_soon(self) -> None:
        self.world.after(0.05 + self.rng.random() * 0.5, self._reconnect)

    def _reconnect(self) -> None:
        if self._connected or self._lost or self._closed or not self._gets_through:
            return
        if self.id in self.server.ended:
            self._end()
        else:
            self._connect()
            self.events.put(SessionEvent("connected"))
            self.world.wake()

    def _connect(self) -> None:
        self._connected = True
        self.replica = self.rng.choice(self.server.replicas)
        if self.replica.applied < self._seen:
            # A server that has seen less than the client refuses it.
            self.server.catch_up(self.replica, self._seen)
        self._start_beating()

    def _end(self) -> None:
        if self._lost or self.access.paused or self.access.dead:
            return
        self._drop(tell=False)
        self._lost = True
        if self in self.access.sessions:
            self.access.sessions.remove(self)
        self.events.put(SessionEvent("lost"))
        self.world.wake()
