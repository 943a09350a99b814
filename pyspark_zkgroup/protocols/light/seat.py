"""One light member's stream at its coordinator: executes its requests, if it may make them.

All streams under a name share one gate, which is held while a request is executed. It is closed
before the member's nodes are given away or another stream takes its place: after that no request of
this stream is executed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import AccessError, BadZnodeError
from pyspark_zkgroup.group.ops import SetData
from pyspark_zkgroup.jvm.registration import encode_registration, parse_registration
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Started
from pyspark_zkgroup.protocols.light.beat import Beat
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.limits import Limits
from pyspark_zkgroup.protocols.light.node_requests import NodeRequests
from pyspark_zkgroup.protocols.light.nodes import delete_life, read_light
from pyspark_zkgroup.protocols.light.office import Office
from pyspark_zkgroup.protocols.light.rules.messages import (
    Commit,
    Executed,
    Failed,
    Hello,
    Leave,
    Pong,
    Read,
    Register,
    Registered,
    Rejected,
    Reply,
    ToCoordinator,
    Told,
)
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

if TYPE_CHECKING:
    # A candidate that does not listen needs no gRPC.
    from pyspark_zkgroup.protocols.light.conversation import Outbox

_log = logging.getLogger("pyspark_zkgroup.coordinator")


class Desk(Protocol):
    """What a stream needs of its coordinator, whichever term it is."""

    clock: EventClock
    limits: Limits

    def gate_of(self, name: tuple[str, str]) -> AbstractContextManager[object]: ...
    def settle(self, seat: Seat, life: int) -> int: ...
    def heard(self, seat: Seat) -> bool: ...
    def answered(self, seat: Seat, answer: Answer) -> None: ...


class Seat:
    def __init__(
        self,
        desk: Desk,
        office: Office,
        client: Client,
        outbox: Outbox,
        register: Callable[[Seat, Register], Reply],
    ) -> None:
        self.desk = desk
        self.office = office
        self.client = client
        self.outbox = outbox
        self.register = register
        self.asked_at = desk.clock.monotonic()
        self._requests = NodeRequests(client, office.store, office.quota, office.members)
        self._beat = Beat(client.timeout_s)
        self._gate = desk.gate_of(client.name)
        self._closed = False

    def beat(self, now: float) -> None:
        ping = self._beat.due(now)
        if ping is not None:
            self._requests.look_again()
            self.outbox.put(ping)

    def is_late(self, now: float) -> bool:
        """Return whether it should have registered by now. Until then it has a place, and holds
        nothing.
        """
        return not self.client.life and now - self.asked_at > self.desk.limits.register_within_s

    def close(self) -> None:
        with self._gate:
            self._closed = True
        self.outbox.close()

    def cut(self) -> None:
        with self._gate:
            self._closed = True
        self.outbox.cut()

    # -- in the thread of the stream

    def take(self, message: ToCoordinator) -> None:
        with self._gate:
            if self._closed or self.office.over.is_set() or not self.desk.heard(self):
                return
            if isinstance(message, Pong):
                self._beat.heard(message)
            elif isinstance(message, Told):
                self._note_generation(message)
                self.desk.answered(self, message.answer)
            elif not isinstance(message, Hello):
                self.outbox.put(self._served(message))

    def end(self) -> None:
        self.office.members.leave(self)

    def _served(self, message: Register | Read | Commit | Leave) -> Reply:
        try:
            if isinstance(message, Register):
                return self.register(self, message)
            if isinstance(message, Read):
                return self._requests.read(message)
            if isinstance(message, Commit):
                return self._requests.commit(message)
            if self.client.life:
                life = self.client.named
                self.office.members.end_life(life)
                self.office.quota.freed(life.group, delete_life(self.office.store, life))
            return Executed(message.number, ())
        except (DisconnectedError, SessionLostError) as error:
            return Failed(message.number, "offline", f"ZooKeeper does not answer ({error})")
        except (AccessError, BadZnodeError) as error:
            return Failed(message.number, "forbidden", f"{error}")

    # -- registering

    def registered(self, asked: Register, life: int) -> Reply:
        if not self.desk.settle(self, life):
            return Failed(asked.number, "offline", "its last session has not quite ended yet")
        # The node was seen, and commands to the member sent, before we knew its life.
        self.office.members.deliver(self)
        return Registered(asked.number, life)

    def fence(self, why: str) -> None:
        """End it for another stream under this name, which holds the gate that both share.

        With a gate each, two streams that fence each other would wait permanently.
        """
        self._closed = True
        reason = f"Another process has taken over the member id {self.client.hello.consumer}: {why}"
        self.outbox.put(Rejected(reason, retriable=False, fenced=True))
        self.outbox.close()

    def _note_generation(self, told: Told) -> None:
        """Write the decision that the member has obeyed into its node."""
        answer, client, store = told.answer, self.client, self.office.store
        if not isinstance(answer, Started) or answer.life != client.life:
            return
        consumer = client.hello.consumer
        path = client.paths.id(consumer)
        try:
            found = read_light(store, client.paths, consumer)
            if found is None or found.life != client.life:
                return
            registration = parse_registration(path, found.node.data)
            seat = replace(found.seat, generation=str(answer.generation))
            data = encode_registration(replace(registration, light=seat))
            store.commit([(SetData(path, data, found.node.node.version),)])
        except (DisconnectedError, SessionLostError) as error:
            _log.warning(catalogue.warning("ZKG-174", path=path, error=error))
