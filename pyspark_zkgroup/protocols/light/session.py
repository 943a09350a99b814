"""A light member's session: what it has of its coordinators, whichever stream is open.

It decides nothing about the group: commands and changes of the connection only go into queues.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.light.coordinator_search import CoordinatorSearch, LightSettings
from pyspark_zkgroup.protocols.light.exchange import Exchange
from pyspark_zkgroup.protocols.light.lease import Lease
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    ChildrenRead,
    Executed,
    Failed,
    Leave,
    NodesRead,
    Ping,
    Registered,
    Reply,
    Tell,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.stream import OpenStream, Stream
from pyspark_zkgroup.threads import SYSTEM_THREADS, Threads
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)

COMMAND = "a command"
"""The path of the event that a command has come."""
# When a coordinator has just died, the election takes some time.
_OPEN_S_MIN = 5.0
_log = logging.getLogger("pyspark_zkgroup.group")


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
        self.settings = SessionSettings(settings.hosts, "", settings.hello.timeout_ms, 0)
        self.events = events
        self.threads = threads
        self.id = -1
        self.brokers: tuple[str, ...] = ()
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.lease = Lease(clock, settings.timeout_s)
        self.exchange = Exchange(clock, self.lease)
        self.search = CoordinatorSearch(settings, open_stream, clock, self)
        self._lost = False
        self._thread: object = None

    def open(self) -> None:
        """Find the coordinator, or raise what keeps us out, or a ServerError with the addresses
        that were asked.
        """
        self._thread = self.threads.start(self.search.run, "zkgroup-light")
        if self.search.is_settled(max(_OPEN_S_MIN, self.lease.timeout_s)):
            return
        refused, note = self.refused, self.search.note
        self.close()
        if refused is not None:
            raise refused
        raise ServerError.of(
            "no_coordinator", addresses=self.settings.hosts, reason=note or "no answer"
        )

    @property
    def refused(self) -> Exception | None:
        return self.search.refused

    @property
    def alive(self) -> bool:
        return not self._lost

    @property
    def connected(self) -> bool:
        return self.alive and self.exchange.is_open

    @property
    def negotiated_timeout_s(self) -> float:
        return self.lease.timeout_s

    def lease_left_s(self) -> float:
        return self.lease.left_s()

    def ask(self, make: Callable[[int], ToCoordinator]) -> Reply:
        """Send the message that `make` makes with a number, and wait for the answer to it."""
        if not self.alive:
            raise SessionLostError("ended")
        reply = self.exchange.ask(make)
        if isinstance(reply, Registered):
            self.id = reply.life
        return reply

    def say(self, message: ToCoordinator) -> None:
        """Send a message that has no answer; it is lost with the connection."""
        self.exchange.say(message)

    def leave(self) -> None:
        """Leave: the coordinator ends our life, and deletes its registration and owner nodes."""
        self.ask(Leave)

    def close(self) -> None:
        if self.connected and self.id >= 0:
            try:
                self.leave()
            except (DisconnectedError, SessionLostError, AccessError) as error:
                _log.warning(catalogue.warning("ZKG-176", error=error))
        self._lost = True
        self.search.close()
        self.exchange.finish()

    # -- in the session's thread

    def take_up(self, accepted: Accepted, stream: Stream, hello_at: float) -> bool:
        """Return False if our registration was given up meanwhile: this session has ended."""
        if self.id >= 0 and accepted.life != self.id:
            self.lose()
            return False
        self.lease.begin_stream()
        if accepted.life:
            self.lease.prove(hello_at)
        self.brokers = accepted.brokers
        self.exchange.take_up(stream)
        self.events.put(SessionEvent("connected"))
        return True

    def take(self, message: ToMember, stream: Stream) -> None:
        if isinstance(message, Ping):
            stream.send(self.lease.answer(message))
        elif isinstance(message, Tell):
            self.commands.put(message.command)
            self.events.put(SessionEvent("changed", COMMAND))
        elif isinstance(message, NodesRead | ChildrenRead | Executed | Registered | Failed):
            self.exchange.answered(message)

    def cut_off(self) -> None:
        if self.exchange.cut_off():
            self.events.put(SessionEvent("suspended"))

    def lose(self) -> None:
        self._lost = True
        self.events.put(SessionEvent("lost"))
