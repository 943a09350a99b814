"""A light member's search for its coordinator, and the streams that it finds, one after another.

A separate thread answers pings whatever the planner is doing, and searches for the coordinator when
the stream breaks.
"""

from __future__ import annotations

import logging
import queue
from dataclasses import dataclass
from typing import Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import AccessError, AssignmentError, FencedError
from pyspark_zkgroup.protocols.light.rules import search as searching
from pyspark_zkgroup.protocols.light.rules.lease import stream_silent_at
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Elsewhere,
    Executed,
    Failed,
    Hello,
    Leave,
    Rejected,
    ToMember,
)
from pyspark_zkgroup.protocols.light.rules.search import Search
from pyspark_zkgroup.protocols.light.stream import NotLetInError, OpenStream, Stream
from pyspark_zkgroup.security.stream_access import StreamAccess

_LEAVING = 0
"""The number of a request whose answer is not awaited."""
_SHOWN = 200
_STRANGERS_MAX = 20
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class LightSettings:
    """`given_up` has lives of this process whose nodes it no longer relies on."""

    addresses: tuple[str, ...]
    access: StreamAccess
    hello: Hello
    given_up: frozenset[int] = frozenset()

    @property
    def hosts(self) -> str:
        return ",".join(self.addresses)

    @property
    def timeout_s(self) -> float:
        return self.hello.timeout_ms / 1000.0


class Session(Protocol):
    """What the streams are for."""

    id: int

    def take_up(self, accepted: Accepted, stream: Stream, hello_at: float) -> bool:
        """Return False if our registration was given up meanwhile: this session has ended."""

    def take(self, message: ToMember, stream: Stream) -> None: ...

    def cut_off(self) -> None:
        """The stream has ended, whether or not it was taken up."""

    def lose(self) -> None:
        """The session has ended: `refused` has the reason."""


class CoordinatorSearch:
    """`refused` is what keeps the member out; `note` why the last address did not serve it."""

    def __init__(
        self, settings: LightSettings, open_stream: OpenStream, clock: EventClock, session: Session
    ) -> None:
        self.settings = settings
        self.open_stream = open_stream
        self.clock = clock
        self.session = session
        self.refused: Exception | None = None
        self.note = ""
        self._settled: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._closing = False
        self._closed: queue.SimpleQueue[None] = queue.SimpleQueue()
        # Each is logged once; a client that forges answers may invent a new one every time.
        self._strangers: set[str] = set()

    def is_settled(self, within_s: float) -> bool:
        """Wait until a coordinator has accepted the member, or refused it; return which it is.

        Accepted once is enough: a stream that closes right after is followed by another.
        """
        is_accepted = self.clock.next_of(self._settled, within_s)
        return bool(is_accepted)

    def close(self) -> None:
        self._closing = True
        self._closed.put(None)

    # -- in the session's thread

    def run(self) -> None:
        search = Search(self.settings.addresses, self.settings.access.names_authorities)
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
                self.session.cut_off()
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
        stream = self.open_stream(search.address, self.settings.access, inbox)
        try:
            stream.send(self.settings.hello)
            heard_at = began
            while not self._closing:
                now = self.clock.monotonic()
                silent_s = stream_silent_at(heard_at, self.settings.timeout_s) - now
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
                    self.session.take(message, stream)
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
        return self.session.id < 0 and life in self.settings.given_up

    def _take_up(self, accepted: Accepted, stream: Stream, hello_at: float) -> bool:
        if not self.session.take_up(accepted, stream, hello_at):
            self._closing = True
            return False
        self.note = ""
        self._settled.put(True)
        return True

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
        if answer.fenced:
            self._refuse(FencedError.of("same_member_id", reason=answer.reason))
        else:
            self._refuse(
                AssignmentError.of(
                    "refused_by_coordinator", address=search.address, reason=answer.reason
                )
            )
        return search

    def _failed(self, search: Search, why: str) -> Search:
        self.note = f"{search.address}: {why}"
        return searching.failed(search)

    def _why(self, error: Exception) -> str:
        if isinstance(error, NotLetInError):
            self._refuse(AccessError.of("coordinator_token", addresses=self.settings.hosts))
        return f"{error}"

    def _refuse(self, error: Exception) -> None:
        self.refused = error
        self.session.lose()
