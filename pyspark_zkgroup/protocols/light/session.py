"""A light member's session: the stream to its coordinator, and the search for another one.

A separate thread answers pings whatever the planner is doing, and searches for the coordinator when
the stream breaks. It decides nothing about the group: commands and changes of the connection only
go into queues.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.errors import AccessError, AssignmentError, FencedError, ServerError
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.light.rules import search as searching
from pyspark_zkgroup.protocols.light.rules.lease import member_may_plan_until, stream_silent_at
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    ChildrenRead,
    Elsewhere,
    Executed,
    Failed,
    Hello,
    Leave,
    NodesRead,
    Ping,
    Pong,
    Registered,
    Rejected,
    Reply,
    Tell,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.rules.search import Search
from pyspark_zkgroup.protocols.light.stream import NotLetInError, OpenStream, Stream
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.threads import SYSTEM_THREADS, Threads
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)

_LEAVING = 0
"""The number of a request whose answer is not awaited."""
COMMAND = "a command"
"""The path of the event that a command has come."""
_REQUEST_SHARE = 0.25
_REQUEST_S_MIN = 1.0
_PROBE_S = 0.1
# When a coordinator has just died, the election takes some time.
_OPEN_S_MIN = 5.0
_SHOWN = 200
_STRANGERS_MAX = 20
_log = logging.getLogger("pyspark_zkgroup.group")

_Answer: TypeAlias = "queue.SimpleQueue[Reply | DisconnectedError]"


@dataclass(frozen=True, slots=True)
class LightSettings:
    """`given_up` has lives of this process whose nodes it no longer relies on."""

    addresses: tuple[str, ...]
    access: StreamAccess
    hello: Hello
    given_up: frozenset[int] = frozenset()

    @property
    def timeout_s(self) -> float:
        return self.hello.timeout_ms / 1000.0


class LightSession:
    """`id` is the life that the coordinator has registered; -1 before, which equals no node's
    owner.

    `open_stream`, time and threads are passed in, so that a simulated world can have its own.
    """

    def __init__(
        self,
        settings: LightSettings,
        events: queue.SimpleQueue[SessionEvent],
        open_stream: OpenStream,
        clock: EventClock = SYSTEM,
        threads: Threads = SYSTEM_THREADS,
    ) -> None:
        self.light = settings
        self.settings = SessionSettings(
            ",".join(settings.addresses), "", settings.hello.timeout_ms, 0
        )
        self.events = events
        self.open_stream = open_stream
        self.clock = clock
        self.threads = threads
        self.id = -1
        self.brokers: tuple[str, ...] = ()
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.proved_at = float("-inf")
        self.refused: Exception | None = None
        self.note = ""
        self._lost = False
        self._accepted = self._closing = False
        self._settled: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._closed: queue.SimpleQueue[None] = queue.SimpleQueue()
        # Never held while waiting.
        self._lock = threading.Lock()
        self._silent_at: float | None = None
        self._number = 0
        self._asked: dict[int, tuple[_Answer, float]] = {}
        self._pongs: dict[int, float] = {}
        self._stream: Stream | None = None
        self._thread: object = None
        # Each is logged once; a client that forges answers may invent a new one every time.
        self._strangers: set[str] = set()

    def open(self) -> None:
        """Find the coordinator, or raise what keeps us out, or a ServerError with the addresses
        that were asked.
        """
        self._thread = self.threads.start(self._run, "zkgroup-light")
        # Accepted once is enough: a stream that closes right after is followed by another.
        if self.clock.next_of(self._settled, max(_OPEN_S_MIN, self.light.timeout_s)):
            return
        refused, note = self.refused, self.note
        self.close()
        if refused is not None:
            raise refused
        raise ServerError.of(
            "no_coordinator", addresses=self.settings.hosts, reason=note or "no answer"
        )

    @property
    def alive(self) -> bool:
        return not self._lost

    @property
    def connected(self) -> bool:
        return self.alive and self._accepted

    @property
    def negotiated_timeout_s(self) -> float:
        return self.light.timeout_s

    def lease_left_s(self) -> float:
        return member_may_plan_until(self.proved_at, self.light.timeout_s) - self.clock.monotonic()

    def ask(self, make: Callable[[int], ToCoordinator]) -> Reply:
        """Send the message that `make` makes with a number, and wait for the answer to it."""
        answer: _Answer = queue.SimpleQueue()
        with self._lock:
            stream = self._stream
            if not self.alive:
                raise SessionLostError("ended")
            if not self._accepted or stream is None:
                raise DisconnectedError("no coordinator is at hand")
            self._number += 1
            number = self._number
            self._asked[number] = answer, self.clock.monotonic()
            stream.send(make(number))
        probe = self._silent_at == self.proved_at
        patience_s = max(_REQUEST_S_MIN, self.light.timeout_s * _REQUEST_SHARE)
        try:
            reply = self.clock.next_of(answer, _PROBE_S if probe else patience_s)
        finally:
            with self._lock:
                self._asked.pop(number, None)
        if reply is None:
            self._silent_at = self.proved_at
            raise DisconnectedError("the coordinator did not answer in time")
        if isinstance(reply, DisconnectedError):
            raise reply
        if isinstance(reply, Failed) and reply.why == "offline":
            raise DisconnectedError(reply.text)
        if isinstance(reply, Failed) and reply.why == "forbidden":
            raise AccessError.of("refused_by_coordinator", reason=reply.text)
        if isinstance(reply, Registered):
            self.id = reply.life
        return reply

    def say(self, message: ToCoordinator) -> None:
        """Send a message that has no answer; it is lost with the connection."""
        with self._lock:
            if self._accepted and self._stream is not None:
                self._stream.send(message)

    def leave(self) -> None:
        """Leave: the coordinator ends our life, and deletes its registration and owner nodes."""
        self.ask(Leave)

    def close(self) -> None:
        if self.connected and self.id >= 0:
            try:
                self.leave()
            except (DisconnectedError, SessionLostError, AccessError) as error:
                _log.warning(catalogue.warning("ZKG-176", error=error))
        self._lost = self._closing = True
        self._closed.put(None)
        with self._lock:
            if self._stream is not None:
                self._stream.finish()

    # -- in the session's thread

    def _run(self) -> None:
        search = Search(self.light.addresses, self.light.access.names_authorities)
        while not self._closing:
            if search.pause_s > 0.0 and self._closed_within(search.pause_s):
                return
            address = search.address
            try:
                search = self._talk(search)
            except Exception as error:  # noqa: BLE001 - the one thread that finds the coordinator
                _log.exception(catalogue.warning("ZKG-177", address=address))
                self.note = f"{address}: {error}"
                search = searching.failed(search)
            finally:
                self._cut_off()
            if self.refused is not None:
                self._settled.put(False)
                return

    def _closed_within(self, pause_s: float) -> bool:
        self.clock.next_of(self._closed, pause_s)
        return self._closing

    def _talk(self, search: Search) -> Search:
        """Serve one stream until it ends; return where to search then."""
        began = self.clock.monotonic()
        inbox: queue.SimpleQueue[ToMember | Exception] = queue.SimpleQueue()
        stream = self.open_stream(search.address, self.light.access, inbox)
        try:
            stream.send(self.light.hello)
            heard_at = began
            while not self._closing:
                now = self.clock.monotonic()
                silent_s = stream_silent_at(heard_at, self.light.timeout_s) - now
                message = self.clock.next_of(inbox, max(0.0, silent_s))
                if message is None:
                    return self._failed(search, "says nothing")
                heard_at = self.clock.monotonic()
                if isinstance(message, Exception):
                    return self._failed(search, self._why(message))
                if isinstance(message, Accepted) and self._is_given_up(message.life):
                    stream.send(Leave(_LEAVING))
                elif isinstance(message, Executed | Failed) and message.number == _LEAVING:
                    return self._failed(search, "ends a life of this member that is given up")
                elif isinstance(message, Accepted):
                    search = searching.found(search)
                    if not self._take_up(message, stream, began):
                        return search
                elif isinstance(message, Elsewhere):
                    return self._elsewhere(search, message)
                elif isinstance(message, Rejected):
                    return self._rejected(search, message)
                else:
                    self._take(message, stream)
        finally:
            stream.close()
        return search

    def _is_given_up(self, life: int) -> bool:
        """Return whether this life was given up: it must not be taken up again.

        The coordinator would accept us, as the same process, under that life, whose owner nodes
        exist, although we no longer hold anything of it. We gave it up while no coordinator could
        be reached; or a coordinator was ending it and answered that there was none, and its
        successor still found it registered.
        """
        return self.id < 0 and life in self.light.given_up

    def _take_up(self, accepted: Accepted, stream: Stream, hello_at: float) -> bool:
        """Return False if our registration was given up meanwhile: this session has ended."""
        with self._lock:
            if self.id >= 0 and accepted.life != self.id:
                self._lost = self._closing = True
                self.events.put(SessionEvent("lost"))
                return False
            self._stream = stream
            self._pongs.clear()
            self.brokers = accepted.brokers
            if accepted.life:
                self.proved_at = max(self.proved_at, hello_at)
            self.note = ""
            self._accepted = True
        self._settled.put(True)
        self.events.put(SessionEvent("connected"))
        return True

    def _take(self, message: ToMember, stream: Stream) -> None:
        now = self.clock.monotonic()
        if isinstance(message, Ping):
            sent = self._pongs.get(message.heard)
            if sent is not None:
                self.proved_at = max(self.proved_at, sent)
            self._pongs = {n: at for n, at in self._pongs.items() if n > message.heard}
            self._pongs[message.number] = now
            stream.send(Pong(message.number))
        elif isinstance(message, Tell):
            self.commands.put(message.command)
            self.events.put(SessionEvent("changed", COMMAND))
        elif isinstance(message, NodesRead | ChildrenRead | Executed | Registered | Failed):
            with self._lock:
                found = self._asked.pop(message.number, None)
            if found is not None:
                answer, sent = found
                self.proved_at = max(self.proved_at, sent)
                answer.put(message)

    def _cut_off(self) -> None:
        """The stream has ended: every request on it without an answer is in doubt."""
        with self._lock:
            was, self._accepted = self._accepted, False
            unanswered, self._asked = self._asked, {}
        for answer, _ in unanswered.values():
            answer.put(DisconnectedError("the connection to the coordinator broke"))
        if was:
            self.events.put(SessionEvent("suspended"))

    def _elsewhere(self, search: Search, answer: Elsewhere) -> Search:
        who = f"the coordinator {answer.coordinator} " if answer.coordinator else "no coordinator "
        what = "serves no light members" if answer.coordinator else "is in office"
        if not answer.address:
            self.note = f"{search.address}: {who}{what}"
        elif answer.address != search.address and not searching.leads_on(search, answer.address):
            shown = repr(answer.address[:_SHOWN])
            self.note = (
                f"{search.address}: it names {shown} as the coordinator, which "
                "coordinator.addresses does not"
            )
            if shown not in self._strangers and len(self._strangers) < _STRANGERS_MAX:
                self._strangers.add(shown)
                _log.warning(catalogue.warning("ZKG-192", address=search.address, other=shown))
        return searching.redirected(search, answer.address)

    def _rejected(self, search: Search, answer: Rejected) -> Search:
        if answer.retriable:
            return self._failed(search, answer.reason)
        self._lost = True
        if answer.fenced:
            self.refused = FencedError.of("same_member_id", reason=answer.reason)
        else:
            self.refused = AssignmentError.of(
                "refused_by_coordinator", address=search.address, reason=answer.reason
            )
        self.events.put(SessionEvent("lost"))
        return search

    def _failed(self, search: Search, why: str) -> Search:
        self.note = f"{search.address}: {why}"
        return searching.failed(search)

    def _why(self, error: Exception) -> str:
        if isinstance(error, NotLetInError):
            self._lost = True
            self.refused = AccessError.of("coordinator_token", addresses=self.settings.hosts)
            self.events.put(SessionEvent("lost"))
        return f"{error}"
