"""Bugs of light members and of the coordinators that keep their sessions, each planted by replacing
one function: the simulation must find them all.

A bug replaces its functions for the whole scene: within a call, where several actors run, the one
that ends last would restore what another had put there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import local
from typing import Any, Final

from pyspark_zkgroup.group.ops import NodeVersion, Transaction
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Stop, Stopped
from pyspark_zkgroup.protocols.light import desk as light_desk
from pyspark_zkgroup.protocols.light import node_requests
from pyspark_zkgroup.protocols.light import nodes as light_nodes
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.gates import Gates
from pyspark_zkgroup.protocols.light.rules import identity, permits
from pyspark_zkgroup.protocols.light.rules import sessions as keeping
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Accepted, Reply
from pyspark_zkgroup.protocols.light.rules.sessions import Life, Sessions
from pyspark_zkgroup.protocols.light.seat import Seat
from pyspark_zkgroup.protocols.light.served_members import ServedMembers, ServedStream
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.stream import Stream
from pyspark_zkgroup.protocols.light.stream_channel import StreamChannel
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import Node, NodeStore
from tests.sim.planted import forget_what_was_closed
from tests.sim.planting import Bugs, Patches, put

_ENDED_AT_ONCE_S = 0.1


def _lives_are_forgotten_at_fail_over() -> Patches:
    """A member that is registered and was not heard in this term does not exist."""

    def seen(sessions: Sessions, lives: Mapping[Life, float], now: float) -> Sessions:
        return real(sessions, dict.fromkeys(lives, _ENDED_AT_ONCE_S), now)

    real = keeping.seen
    return [put(keeping, "seen", seen)]


def _no_member_expires_after_a_fail_over() -> Patches:
    """Only members that were heard in this term are looked after."""
    return [put(keeping, "seen", lambda sessions, _lives, _now: sessions)]


def _half_the_timeout() -> Patches:
    """A registration is deleted while its member still plans."""
    return [put(keeping, "counted_dead_at", lambda at, timeout_s: at + timeout_s / 2.0)]


def _any_answer_frees() -> Patches:
    """Whatever it answers, and under whichever life."""
    real = LightDesk.answered

    def answered(self: LightDesk, seat: Seat, answer: Answer) -> None:
        asked = [
            c for c in seat.office.members._mail.get(seat.client.named, ()) if isinstance(c, Stop)
        ]
        if asked:
            answer = Stopped(asked[-1].generation, seat.client.life)
        real(self, seat, replace(answer, life=seat.client.life))

    return [put(LightDesk, "answered", answered)]


def _the_member_holds_no_lease() -> Patches:
    """The member plans as long as no coordinator says otherwise."""
    return [put(LightSession, "lease_left_s", lambda _self: 1.0)]


def _the_lease_counts_from_the_answer() -> Patches:
    """Not from when what was answered had been sent, and for the whole timeout."""
    real = LightSession.take

    def take(self: LightSession, message: Any, stream: Stream) -> None:
        real(self, message, stream)
        self.lease.proved_at = self.lease.clock.monotonic() + self.lease.timeout_s / 4.0

    return [put(LightSession, "take", take)]


def _who_is_not_registered_may_own() -> Patches:
    """The member claims its assignment before it has a life."""
    return [
        put(node_requests, "settles", lambda _paths, _transactions: True),
        put(LightDesk, "settle", lambda _self, _seat, life: life),
    ]


def _stopped_before_the_release() -> Patches:
    def busy(self: StreamChannel, context: MemberContext) -> None:
        held = context.holdings.held
        context.holdings.held = {}
        try:
            real(self, context)
        finally:
            context.holdings.held = held

    real = StreamChannel.answer

    def obey(self: StreamChannel, context: MemberContext) -> None:
        real_obey(self, context)
        busy(self, context)

    real_obey = StreamChannel.obey
    return [put(StreamChannel, "obey", obey)]


def _a_fenced_predecessor_continues() -> Patches:
    """Its stream is left open, and the name is good enough."""

    here = local()

    def seat(self: LightDesk, office: Any, hello: Any, outbox: Any, caller: Caller) -> Seat | None:
        here.shown = identity.shown(hello.group, hello.consumer, hello.incarnation)
        return real(self, office, hello, outbox, caller)

    def light(store: NodeStore, paths: Any, consumer: str) -> Any:
        found = read(store, paths, consumer)
        return found and replace(found, seat=replace(found.seat, incarnation=here.shown))

    read = light_nodes.read_light
    real = LightDesk._seat
    return [
        put(LightDesk, "_seat", seat),
        put(light_desk, "read_light", light),
        put(Seat, "fence", lambda _self, _why: None),
    ]


def _accepted_under_another_life_and_continuing() -> Patches:
    """What it held is still held."""
    real = LightSession.take_up

    def take_up(self: LightSession, accepted: Accepted, stream: Stream, hello_at: float) -> bool:
        if self.id >= 0 and accepted.life != self.id:
            accepted = replace(accepted, life=self.id)
        return real(self, accepted, stream, hello_at)

    return [put(LightSession, "take_up", take_up)]


def _commands_from_before_the_life_was_known_are_lost() -> Patches:
    real, real_deliver = Seat.registered, ServedMembers.deliver
    here = local()

    def registered(self: Seat, asked: Any, life: int) -> Reply:
        here.registers = True
        try:
            return real(self, asked, life)
        finally:
            here.registers = False

    def deliver(self: ServedMembers, stream: ServedStream) -> None:
        if not getattr(here, "registers", False):
            real_deliver(self, stream)

    return [put(Seat, "registered", registered), put(ServedMembers, "deliver", deliver)]


def _no_gate_between_a_take_over_and_an_end() -> Patches:
    def gate(_self: Gates, _name: tuple[str, str]) -> AbstractContextManager[object]:
        return nullcontext()

    return [put(Gates, "of", gate)]


def _what_comes_after_the_end_is_answered() -> Patches:
    """A life that is being ended is heard as long as its stream is open."""
    real = LightDesk.heard

    def heard(self: LightDesk, seat: Seat) -> bool:
        members = seat.office.members
        ended, members._ended = members._ended, set()
        try:
            return real(self, seat)
        finally:
            members._ended = ended

    return [put(LightDesk, "heard", heard)]


def _a_life_ends_with_all_of_its_name() -> Patches:
    """Whichever life has made them."""
    real = light_nodes.light_owners

    def owners(store: NodeStore, paths: Any) -> dict[str, Node]:
        return {
            path: node._replace(node=NodeVersion(_Within(), node.node.version))
            for path, node in real(store, paths).items()
        }

    return [put(light_nodes, "light_owners", owners)]


class _Within(int):
    def __lt__(self, _other: object) -> bool:
        return True

    def __gt__(self, _other: object) -> bool:
        return True


def _commands_are_sent_once() -> Patches:
    """The command goes to whichever member listens just then."""
    return [put(ServedMembers, "deliver", lambda _self, _stream: None)]


def _joined_once_assigned_permanently() -> Patches:
    """What was to be asked after the registration, and was not answered, is not asked again."""
    live = StreamChannel.live
    return [
        put(StreamChannel, "live", lambda _self, _life: None),
        put(StreamChannel, "begin", lambda self, context: live(self, context.session)),
    ]


def _an_earlier_stream_keeps_its_place() -> Patches:
    """It is cut only, and may ask for its own life still."""

    def end(_self: LightDesk, _office: Any, streams: Collection[ServedStream]) -> None:
        for stream in streams:
            stream.cut()

    return [put(LightDesk, "_end_earlier", end)]


def _a_name_is_proof_enough() -> Patches:
    """A client that claims to be a member owns what the member owns."""

    def owns(self: Client, node: Node) -> bool:
        return light_nodes.consumer_of_owner(node) == self.hello.consumer

    return [
        put(node_requests, "settles", lambda _paths, _transactions: True),
        put(Client, "owns", owns),
    ]


def _the_registration_shows_the_secret() -> Patches:
    """A client that has read the registration is taken for the member."""

    def holds(seat: Any, shown: str, caller: Caller) -> bool:
        return real_holds(seat, shown, caller) or here.get(shown) == seat.incarnation

    def show(group: str, consumer: str, incarnation: str) -> str:
        made = real_show(group, consumer, incarnation)
        here[made] = incarnation
        return made

    here: dict[str, str] = {}
    real_holds, real_show = identity.holds, identity.shown
    return [put(identity, "holds", holds), put(identity, "shown", show)]


def _a_coordinator_without_a_session_is_believed() -> Patches:
    """It was stopped, and answers what the member has sent to it meanwhile."""

    def heard(self: LightDesk, seat: Seat) -> bool:
        return seat.office.members.heard(seat, self.clock.monotonic())

    return [put(LightDesk, "heard", heard)]


def _an_ended_life_may_claim() -> Patches:
    """A second coordinator has ended it."""
    real = permits.of_life

    def of_life(
        _life: int, paths: CoordinatedPaths, consumer: str, transaction: Transaction
    ) -> Transaction:
        return real(0, paths, consumer, transaction)

    return [put(node_requests, "of_life", of_life)]


BUGS: Final[Bugs] = {
    "lives are forgotten at fail-over": _lives_are_forgotten_at_fail_over,
    "no member expires after a fail-over": _no_member_expires_after_a_fail_over,
    "half the timeout": _half_the_timeout,
    "any answer frees": _any_answer_frees,
    "the member holds no lease": _the_member_holds_no_lease,
    "the lease counts from the answer": _the_lease_counts_from_the_answer,
    "who is not registered may own": _who_is_not_registered_may_own,
    "stopped before the release": _stopped_before_the_release,
    "a fenced predecessor continues": _a_fenced_predecessor_continues,
    "another life, and continuing": _accepted_under_another_life_and_continuing,
    "told before the life was known": _commands_from_before_the_life_was_known_are_lost,
    "no gate around an end": _no_gate_between_a_take_over_and_an_end,
    "heard after its own end": _a_coordinator_without_a_session_is_believed,
    "an ended life may claim": _an_ended_life_may_claim,
    "heard after the end": _what_comes_after_the_end_is_answered,
    "a life ends with all of its name": _a_life_ends_with_all_of_its_name,
    "commands are sent once": _commands_are_sent_once,
    "joined once, assigned permanently": _joined_once_assigned_permanently,
    "an earlier stream keeps its place": _an_earlier_stream_keeps_its_place,
    "a life that was given up continues": forget_what_was_closed,
    "a name is proof enough": _a_name_is_proof_enough,
    "the registration shows the secret": _the_registration_shows_the_secret,
}
