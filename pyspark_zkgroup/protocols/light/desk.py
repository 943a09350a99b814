"""Serves light members while their coordinator is in office: their identities, lives and commands.

A candidate has one desk for all its terms. Each member's requests are served in the thread of its
stream, one at a time. The desk's lock guards only what they share, and is never held during a
request to ZooKeeper.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Command,
    Holding,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.decisions import Answered
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.entry import register
from pyspark_zkgroup.protocols.light.nodes import delete_life, read_light
from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules import sessions as keeping
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Elsewhere,
    Hello,
    Rejected,
    Tell,
)
from pyspark_zkgroup.protocols.light.rules.permits import refusal_of_hello
from pyspark_zkgroup.protocols.light.rules.sessions import Heard, Life, Sessions
from pyspark_zkgroup.protocols.light.seat import Office, Seat
from pyspark_zkgroup.protocols.owned.registered_brokers import registered_brokers
from pyspark_zkgroup.threads import SYSTEM_THREADS, Threads
from pyspark_zkgroup.zk.port import DisconnectedError, NodeStore, SessionLostError

if TYPE_CHECKING:
    from pyspark_zkgroup.protocols.light.conversation import Outbox

_BEAT_S = 0.1
# A member registers in its first boundary, after a request to the brokers.
_REGISTER_S = 30.0
_ANSWERED_BY: Mapping[type[Answer], type[Command]] = {Started: Start, Stopped: Stop, Holding: Ping}
_log = logging.getLogger("pyspark_zkgroup.coordinator")


class LightDesk:
    """`bootstrap` has the brokers that members receive; if empty: those that have registered with
    an address for `protocol`. `members_max` limits the streams served at a time.
    """

    def __init__(
        self,
        bootstrap: tuple[str, ...] = (),
        protocol: str = "PLAINTEXT",
        members_max: int = 1000,
        group_members_max: int = 500,
        clock: EventClock = SYSTEM,
        threads: Threads = SYSTEM_THREADS,
    ) -> None:
        self.bootstrap = bootstrap
        self.protocol = protocol
        self.members_max = members_max
        self.group_members_max = group_members_max
        self.register_within_s = _REGISTER_S
        self.refusals = RefusalLog(clock)
        self.clock = clock
        self.threads = threads
        self.is_served = False
        """Whether the coordinator listens. If not, nodes are cleaned up and no member is served."""
        self.whereabouts: Callable[[], Candidacy | None] = lambda: None
        self.answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        self.sessions = Sessions()
        self._lock = threading.Lock()
        self._office: Office | None = None
        self._wake: Callable[[], None] = lambda: None
        # Used as a set, in the order of arrival.
        self._seats: dict[Seat, None] = {}
        self._by_name: dict[tuple[str, str], Seat] = {}
        self._gates: WeakValueDictionary[tuple[str, str], AbstractContextManager[object]]
        self._gates = WeakValueDictionary()
        self._mail: dict[Life, list[Command]] = {}
        self._ended: set[Life] = set()
        # The proof of identity that each life has shown, as far as its stream came in this term.
        self._holders: dict[Life, str] = {}

    # -- one term of office, in the candidate's thread

    def begin(self, store: NodeStore, epoch: int, wake: Callable[[], None]) -> None:
        with self._lock:
            self.sessions = Sessions()
            self.answers = queue.SimpleQueue()
            self._mail, self._ended, self._holders = {}, set(), {}
            self._wake = wake
            office = self._office = Office(store, epoch)
        if self.is_served:
            self.threads.start(lambda: self._beat(office), "zkgroup-light-beat")

    def end(self) -> None:
        """End the term. Members notice it by the end of their streams."""
        with self._lock:
            office, self._office = self._office, None
            seats, self._seats, self._by_name = self._seats, {}, {}
        if office is not None:
            office.over.set()
        for seat in seats:
            seat.close()

    def note(self, group: str, registered: Mapping[str, tuple[int, float]]) -> None:
        """Note what a look at the group's registry has found: life and timeout of each light
        member, and 0 for one whose owner nodes exist without it.
        """
        lives = {Life(group, c, life): timeout for c, (life, timeout) in registered.items()}
        with self._lock:
            self._forget_ended(group, lives)
            new = {life: t for life, t in lives.items() if life not in self._ended}
            self.sessions = keeping.seen(self.sessions, new, self.clock.monotonic())

    def _forget_ended(self, group: str, seen: Collection[Life]) -> None:
        """Forget lives that a look no longer shows, while no stream has their name: later looks do
        not show them either. But a stream may have read the registration before it was deleted, and
        be about to take up that life.
        """
        names = {seat.client.name for seat in self._seats}
        over = {
            e
            for e in self._ended
            if e.group == group and e not in seen and (e.group, e.consumer) not in names
        }
        self._ended -= over
        for life in over:
            self._mail.pop(life, None)
            self._holders.pop(life, None)

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        """Send a command. False if it is not for a light member: those have another channel."""
        life = Life(group, consumer, command.life)
        with self._lock:
            if life not in self.sessions.heard and life not in self._ended:
                return False
            # Kept until it is answered: the member may be away now, and come back.
            mail = self._mail.setdefault(life, [])
            if isinstance(command, Start):
                mail[:] = [c for c in mail if not isinstance(c, Start)]
            mail.append(command)
            seat = self._by_name.get((group, consumer))
        if seat is not None and seat.client.life == command.life:
            seat.outbox.put(Tell(command))
        return True

    def due_in_s(self) -> float:
        with self._lock:
            return max(0.0, self.sessions.next_end() - self.clock.monotonic())

    def expire(self) -> bool:
        """End the sessions that are over; False if there is none."""
        with self._lock:
            office = self._office
            ended = self.sessions.expired(self.clock.monotonic())
            self.sessions = keeping.gone(self.sessions, ended)
            self._ended.update(ended)
            seats = [s for s in self._seats if s.client.named in ended]
            for life in ended:
                self._mail.pop(life, None)
        if not ended or office is None:
            return False
        # Cut their streams first: no request of theirs may be executed while nodes are deleted.
        for seat in seats:
            seat.cut()
        for life in ended:
            # Without the gate: the registration is read, and is this life's; a successor takes over
            # the name and its owner nodes, with the same versions; they are deleted as this life's.
            with self.gate_of((life.group, life.consumer)):
                with self._lock:
                    until = self.sessions.following(life)
                nodes = delete_life(office.store, life, until)
                office.quota.freed(life.group, nodes)
            _log.warning(
                catalogue.warning("ZKG-172", member=life.consumer, group=life.group, count=nodes)
            )
        return True

    # -- in the threads of the streams

    def gate_of(self, name: tuple[str, str]) -> AbstractContextManager[object]:
        """Hold it while serving a member of that name, or ending a life of it."""
        with self._lock:
            gate = self._gates.get(name)
            if gate is None:
                gate = self._gates[name] = self.threads.gate()
            return gate

    def greet(self, hello: Hello, outbox: Outbox, caller: Caller) -> Seat | None:
        refusal = refusal_of_hello(hello)
        with self._lock:
            office = self._office
            of_group = sum(seat.client.hello.group == hello.group for seat in self._seats)
            full = len(self._seats) >= self.members_max or of_group >= self.group_members_max
        if refusal:
            outbox.put(Rejected(refusal, retriable=False))
        elif office is None:
            at = self.whereabouts()
            outbox.put(Elsewhere(at.address or "", at.name) if at else Elsewhere(""))
        elif full:
            limit = (
                f"at most {self.members_max} members are served, {self.group_members_max} a group"
            )
            if self.refusals.may_say("full"):
                _log.warning(catalogue.warning("ZKG-195", member=hello.consumer, limit=limit))
            outbox.put(Rejected(limit, retriable=True))
        else:
            return self._seat(office, hello, outbox, caller)
        outbox.close()
        return None

    def _seat(self, office: Office, hello: Hello, outbox: Outbox, caller: Caller) -> Seat | None:
        """Give the stream a seat, or refuse it. An earlier stream of the same process ends first:
        its requests are executed before any of this one, or never.
        """
        client = Client(hello, caller)
        seat = Seat(self, office, client, outbox, register)
        with self._lock:
            # Listed before its node is read: if that life is ended meanwhile, this seat ends too.
            self._seats[seat] = None
            others = [s for s in self._seats if s is not seat]
        self._end_earlier([s for s in others if s.client.is_same_process(client)])
        try:
            found = read_light(office.store, client.paths, hello.consumer)
            brokers = self.bootstrap or registered_brokers(office.store, self.protocol)
        except (DisconnectedError, SessionLostError) as error:
            self.leave(seat)
            outbox.put(Rejected(f"ZooKeeper does not answer ({error})", retriable=True))
            outbox.close()
            return None
        life = 0
        if found is not None and client.holds(found.seat):
            client.is_static = found.is_static
            life = self.settle(seat, found.life)
        outbox.put(Accepted(office.epoch, life, brokers))
        self.deliver(seat)
        return seat

    def _end_earlier(self, streams: Collection[Seat]) -> None:
        for other in streams:
            # It may still be asking for its own life. When it gets it, it would count as the newest
            # stream, and after its end the real newest one would receive no commands.
            self.leave(other)
            other.cut()

    def settle(self, seat: Seat, life: int) -> int:
        """Give the seat this life from now on; 0 if the life has ended."""
        client = seat.client
        named = replace(client.named, number=life)
        now = self.clock.monotonic()
        with self._lock:
            if named in self._ended or seat not in self._seats:
                return 0
            heard = {**self.sessions.heard, named: Heard(now, client.timeout_s)}
            self.sessions = Sessions(heard)
            client.life = life
            self._holders[named] = client.shown
            self._by_name[client.name] = seat
        return life

    def deliver(self, seat: Seat) -> None:
        """Send the commands to its life from before this stream was known to belong to it."""
        with self._lock:
            mail = list(self._mail.get(seat.client.named, ()))
        for command in mail:
            seat.outbox.put(Tell(command))

    def heard(self, seat: Seat) -> bool:
        """Return False if messages of this stream no longer count."""
        now = self.clock.monotonic()
        with self._lock:
            if seat not in self._seats or (seat.client.life and seat.client.named in self._ended):
                # Its time was over while a request of it was served. What arrived after that stays
                # unread: an answer would extend a lease that the coordinator no longer counts.
                return False
            if seat.client.life:
                self.sessions = keeping.heard(self.sessions, seat.client.named, now)
        return True

    def answered(self, seat: Seat, answer: Answer) -> None:
        client = seat.client
        if answer.life != client.life or not client.life:
            return
        kind = _ANSWERED_BY[type(answer)]
        with self._lock:
            mail = self._mail.get(client.named, [])
            done = [c for c in mail if isinstance(c, kind) and c.generation == answer.generation]
            mail[:] = [c for c in mail if c not in done]
        self.answers.put(Answered(*client.name, answer))
        self._wake()

    def lives(self, group: str) -> dict[str, int]:
        """Return the newest life of each light member of the group."""
        with self._lock:
            found: dict[str, int] = {}
            for life in self.sessions.heard:
                if life.group == group:
                    found[life.consumer] = max(life.number, found.get(life.consumer, 0))
            return found

    def has_rival(self, client: Client) -> bool:
        """Whether another process has a live life under this name, whose registration was deleted
        from outside: owner nodes of that life may exist.
        """
        with self._lock:
            return any(
                (life.group, life.consumer) == client.name
                and not identity.is_same(self._holders.get(life, client.shown), client.shown)
                for life in self.sessions.heard
            )

    def supersede(self, life: Life) -> None:
        """Note that another process has proved to be the successor of this life."""
        with self._lock:
            self._holders.pop(life, None)

    def made_by(self, client: Client, czxid: int) -> bool:
        """Return whether this process made a node of its name then, in a life that it has lost."""
        with self._lock:
            number, holder = max(
                (
                    (life.number, holder)
                    for life, holder in self._holders.items()
                    if (life.group, life.consumer) == client.name and life.number < czxid
                ),
                default=(0, ""),
            )
        return bool(number) and identity.is_same(holder, client.shown)

    def is_connected(self, group: str, consumer: str) -> bool:
        with self._lock:
            return (group, consumer) in self._by_name

    def others_of(self, seat: Seat) -> list[Seat]:
        """Return the streams of other processes under the same name."""
        with self._lock:
            return [s for s in self._seats if s is not seat and s.client.name == seat.client.name]

    def leave(self, seat: Seat) -> None:
        """Its stream is over; its session may live on."""
        with self._lock:
            self._seats.pop(seat, None)
            if self._by_name.get(seat.client.name) is seat:
                del self._by_name[seat.client.name]

    def end_life(self, life: Life) -> None:
        """The member has announced that it leaves."""
        with self._lock:
            self._ended.add(life)
            self.sessions = keeping.gone(self.sessions, [life])
            self._mail.pop(life, None)

    # -- in the desk's thread

    def _beat(self, office: Office) -> None:
        while not office.over.is_set():
            self.clock.sleep(_BEAT_S)
            now = self.clock.monotonic()
            with self._lock:
                seats = list(self._seats)
            for seat in seats:
                if seat.is_late(now):
                    self._turn_out(seat)
                else:
                    seat.beat(now)

    def _turn_out(self, seat: Seat) -> None:
        """End a stream without a registration. It may come again, and holds nothing to lose."""
        why = f"it did not register within {self.register_within_s:.0f} s"
        if self.refusals.may_say("late"):
            _log.warning(
                catalogue.warning("ZKG-196", member=seat.client.hello.consumer, reason=why)
            )
        self.leave(seat)
        seat.outbox.put(Rejected(why, retriable=True))
        seat.close()
