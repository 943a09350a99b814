"""Serves light members while their coordinator is in office: their identities, lives and commands.

A candidate has one desk for all its terms. Each member's requests are served in the thread of its
stream, one at a time.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Command
from pyspark_zkgroup.protocols.coordinator.rules.decisions import Answered
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.entry import register
from pyspark_zkgroup.protocols.light.gates import Gates
from pyspark_zkgroup.protocols.light.limits import Limits
from pyspark_zkgroup.protocols.light.nodes import delete_life, read_light
from pyspark_zkgroup.protocols.light.office import Office
from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Elsewhere,
    Hello,
    Rejected,
)
from pyspark_zkgroup.protocols.light.rules.permits import refusal_of_hello
from pyspark_zkgroup.protocols.light.seat import Seat
from pyspark_zkgroup.protocols.light.served_members import ServedMembers, ServedStream
from pyspark_zkgroup.protocols.owned.registered_brokers import registered_brokers
from pyspark_zkgroup.threads import SYSTEM_THREADS, Threads
from pyspark_zkgroup.zk.port import DisconnectedError, NodeStore, SessionLostError

if TYPE_CHECKING:
    from pyspark_zkgroup.protocols.light.conversation import Outbox

_BEAT_S = 0.1
_log = logging.getLogger("pyspark_zkgroup.coordinator")


class LightDesk:
    """`bootstrap` has the brokers that members receive; if empty: those that have registered with
    an address for `protocol`.
    """

    def __init__(
        self,
        bootstrap: tuple[str, ...] = (),
        protocol: str = "PLAINTEXT",
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        clock: EventClock = SYSTEM,
        threads: Threads = SYSTEM_THREADS,
    ) -> None:
        self.bootstrap = bootstrap
        self.protocol = protocol
        self.limits = limits
        self.refusals = RefusalLog(clock)
        self.clock = clock
        self.threads = threads
        self.is_served = False
        """Whether the coordinator listens. If not, nodes are cleaned up and no member is served."""
        self.whereabouts: Callable[[], Candidacy | None] = lambda: None
        self.answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        self.members = ServedMembers()
        self._office: Office | None = None
        self._gates = Gates(threads)

    # -- one term of office, in the candidate's thread

    def begin(self, store: NodeStore, epoch: int, wake: Callable[[], None]) -> None:
        self.members = ServedMembers()
        self.answers = queue.SimpleQueue()
        office = self._office = Office(store, epoch, self.members, wake)
        if self.is_served:
            self.threads.start(lambda: self._beat(office), "zkgroup-light-beat")

    def end(self) -> None:
        """End the term. Members notice it by the end of their streams."""
        office, self._office = self._office, None
        if office is None:
            return
        streams = office.members.leave_all()
        office.over.set()
        for stream in streams:
            stream.close()

    def note(self, group: str, registered: Mapping[str, tuple[int, float]]) -> None:
        self.members.note(group, registered, self.clock.monotonic())

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        return self.members.tell(group, consumer, command)

    def due_in_s(self) -> float:
        return max(0.0, self.members.next_end() - self.clock.monotonic())

    def expire(self) -> bool:
        """End the sessions that are over; False if there is none."""
        office = self._office
        ended, streams = self.members.expire(self.clock.monotonic())
        if not ended or office is None:
            return False
        # Cut their streams first: no request of theirs may be executed while nodes are deleted.
        for stream in streams:
            stream.cut()
        for life in ended:
            # Without the gate: the registration is read, and is this life's; a successor takes over
            # the name and its owner nodes, with the same versions; they are deleted as this life's.
            with self.gate_of((life.group, life.consumer)):
                nodes = delete_life(office.store, life, office.members.following(life))
                office.quota.freed(life.group, nodes)
            _log.warning(
                catalogue.warning("ZKG-172", member=life.consumer, group=life.group, count=nodes)
            )
        return True

    # -- in the threads of the streams

    def gate_of(self, name: tuple[str, str]) -> AbstractContextManager[object]:
        return self._gates.of(name)

    def greet(self, hello: Hello, outbox: Outbox, caller: Caller) -> Seat | None:
        refusal, office, limits = refusal_of_hello(hello), self._office, self.limits
        if refusal:
            outbox.put(Rejected(refusal, retriable=False))
        elif office is None:
            at = self.whereabouts()
            outbox.put(Elsewhere(at.address or "", at.name) if at else Elsewhere(""))
        elif self._is_full(office, hello.group):
            limit = f"at most {limits.members} members are served, {limits.of_group} a group"
            if self.refusals.may_say("full"):
                _log.warning(catalogue.warning("ZKG-195", member=hello.consumer, limit=limit))
            outbox.put(Rejected(limit, retriable=True))
        else:
            return self._seat(office, hello, outbox, caller)
        outbox.close()
        return None

    def _is_full(self, office: Office, group: str) -> bool:
        members, of_group = office.members.numbers(group)
        return members >= self.limits.members or of_group >= self.limits.of_group

    def _seat(self, office: Office, hello: Hello, outbox: Outbox, caller: Caller) -> Seat | None:
        """Give the stream a seat, or refuse it. An earlier stream of the same process ends first:
        its requests are executed before any of this one, or never.
        """
        client = Client(hello, caller)
        seat = Seat(self, office, client, outbox, register)
        # Admitted before its node is read: if that life is ended meanwhile, this seat ends too.
        self._end_earlier(office, office.members.admit(seat))
        try:
            found = read_light(office.store, client.paths, hello.consumer)
            brokers = self.bootstrap or registered_brokers(office.store, self.protocol)
        except (DisconnectedError, SessionLostError) as error:
            office.members.leave(seat)
            outbox.put(Rejected(f"ZooKeeper does not answer ({error})", retriable=True))
            outbox.close()
            return None
        life = 0
        if found is not None and client.holds(found.seat):
            client.is_static = found.is_static
            life = self.settle(seat, found.life)
        outbox.put(Accepted(office.epoch, life, brokers))
        office.members.deliver(seat)
        return seat

    def _end_earlier(self, office: Office, streams: Collection[ServedStream]) -> None:
        for other in streams:
            # It may still be asking for its own life. When it gets it, it would count as the newest
            # stream, and after its end the real newest one would receive no commands.
            office.members.leave(other)
            other.cut()

    def settle(self, seat: Seat, life: int) -> int:
        """Give the seat this life from now on; 0 if the life has ended."""
        return seat.office.members.settle(seat, life, self.clock.monotonic())

    def heard(self, seat: Seat) -> bool:
        """Return False if messages of this stream no longer count.

        This process is stopped for longer than its session, and its successor counts the silence of
        the member from its own election. Woken, we find what the member has sent meanwhile: an
        answer would extend a lease that the successor no longer counts.
        """
        if seat.office.store.session.lease_left_s() <= 0:
            return False
        return seat.office.members.heard(seat, self.clock.monotonic())

    def answered(self, seat: Seat, answer: Answer) -> None:
        client, office = seat.client, seat.office
        if answer.life != client.life or not client.life:
            return
        office.members.answered(client.named, answer)
        self.answers.put(Answered(*client.name, answer))
        office.wake()

    # -- in the desk's thread

    def _beat(self, office: Office) -> None:
        while not office.over.is_set():
            self.clock.sleep(_BEAT_S)
            now = self.clock.monotonic()
            for stream in office.members.streams():
                if stream.is_late(now):
                    self._turn_out(office, stream)
                else:
                    stream.beat(now)

    def _turn_out(self, office: Office, stream: ServedStream) -> None:
        """End a stream without a registration. It may come again, and holds nothing to lose."""
        why = f"it did not register within {self.limits.register_within_s:.0f} s"
        if self.refusals.may_say("late"):
            _log.warning(
                catalogue.warning("ZKG-196", member=stream.client.hello.consumer, reason=why)
            )
        office.members.leave(stream)
        stream.outbox.put(Rejected(why, retriable=True))
        stream.close()
