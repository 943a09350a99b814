"""Bugs of coordinators and of their members, each planted by replacing one function: the simulation
must find them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark_zkgroup.group.ops import Delete, InDoubt
from pyspark_zkgroup.group.paths import COORDINATOR
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator import registry, term
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate
from pyspark_zkgroup.protocols.coordinator.command_channel import CommandChannel
from pyspark_zkgroup.protocols.coordinator.orders import Orders
from pyspark_zkgroup.protocols.coordinator.registry import Registry
from pyspark_zkgroup.protocols.coordinator.rules import rebalance
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Command, Start, Stopped
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import Commands, GroupRead, GroupState
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.owned import claims
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import Children
from pyspark_zkgroup.zk.session import SessionEvent
from pyspark_zkgroup.zk.store import Store
from tests.sim.planting import Bugs, Patches, put

_ANY = -1


def _start_before_the_stop_is_answered() -> Patches:
    real = rebalance._starts

    def starts(state: GroupState, generation: Generation) -> dict[str, Start]:
        return real(replace(state, stopping=(), holders={}), generation)

    return [put(rebalance, "_starts", starts)]


def _any_answer_frees() -> Patches:
    """Whatever the generation it answers."""
    real = rebalance.answered

    def answered(state: GroupState, consumer: str, answer: Answer) -> tuple[GroupState, Commands]:
        newest = [s.generation for s in state.stopping if s.consumer == consumer]
        if newest and not isinstance(answer, Stopped):
            answer = Stopped(newest[-1], answer.life)
        elif newest:
            answer = replace(answer, generation=newest[-1])
        return real(state, consumer, answer)

    return [put(rebalance, "answered", answered)]


def _a_start_only_adds() -> Patches:
    real = Orders.apply

    def apply(self: Orders, command: Command) -> None:
        before = dict(self.share)
        real(self, command)
        if isinstance(command, Start):
            self.share = {**before, **self.share}

    return [put(Orders, "apply", apply)]


def _obey_what_is_older() -> Patches:
    real = CommandChannel.obey

    def obey(self: CommandChannel, context: MemberContext) -> None:
        self.orders.newest = Generation(0)
        real(self, context)

    return [put(CommandChannel, "obey", obey)]


def _watch_the_members_after_the_read() -> Patches:
    real = Registry.read

    class Blind:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def children(self, paths: Any, *, watch: bool = False) -> Any:
            return self._store.children(paths)

    def read(self: Registry, group: str, *, first: bool) -> GroupRead:
        store: Any = self.store
        blind: Any = Blind(store)
        self.store = blind
        try:
            return real(self, group, first=first)
        finally:
            self.store = store
            real(self, group, first=False)

    return [put(Registry, "read", read)]


def _a_term_outlives_its_connection() -> Patches:
    """Though its watches are gone, and a command may be in doubt."""
    real = Candidate._note

    def note(self: Candidate, store: Store, term_: Term, event: SessionEvent) -> bool:
        return event.kind != "changed" or real(self, store, term_, event)

    return [put(Candidate, "_note", note), put(term, "InDoubt", _Never)]


class _Never(InDoubt):
    """What no outcome is."""


def _a_start_is_a_right() -> Patches:
    """On a command to start it, a member takes the node away from the member that has it."""
    real = claims.rebalance

    def rebalance_(
        context: MemberContext, target: Mapping[TopicPartition, int], *args: Any, **named: Any
    ) -> Moved:
        taken = [
            (Delete(context.paths.owner(p), _ANY),)
            for p in target.keys() - context.holdings.held.keys()
        ]
        context.store.commit(taken)
        return real(context, target, *args, **named)

    return [put(claims, "rebalance", rebalance_)]


def _elected_whichever_candidate_is() -> Patches:
    """The node is there: that is enough."""
    real = Candidate._elected

    def elected(self: Candidate, store: Store) -> int | None:
        epoch = real(self, store)
        (node,) = store.stats([COORDINATOR], watch=True)
        return epoch if node is None else node.node.czxid

    return [put(Candidate, "_elected", elected)]


def _channels_of_the_dead_stay() -> Patches:
    return [put(Registry, "_clean", lambda _self, _paths, _gone: None)]


def _the_dead_keep_what_they_held() -> Patches:
    real = rebalance.look

    def look(state: GroupState, read: GroupRead, topics: Any) -> tuple[GroupState, Commands]:
        gone = {c: m for c, m in state.members.items() if c not in read.members}
        return real(state, replace(read, members={**read.members, **gone}), topics)

    return [put(rebalance, "look", look)]


def _one_who_is_back_was_never_away() -> Patches:
    """A consumer id is a member, whatever its registration's life."""
    real = rebalance.look

    def look(state: GroupState, read: GroupRead, topics: Any) -> tuple[GroupState, Commands]:
        members = {c: state.members.get(c, m) for c, m in read.members.items()}
        return real(state, replace(read, members=members), topics)

    return [put(rebalance, "look", look)]


def _who_is_listed_was_always_there() -> Patches:
    """A registration is known by its name, though it went and another came."""

    def surely_the_same(before: Children, now: Children) -> frozenset[str]:
        return before.names & now.names

    return [put(registry, "surely_the_same", surely_the_same)]


def _the_answers_are_not_asked_for_at_first() -> Patches:
    """Only when their watch fires, which no process has armed yet."""
    real = Term.work

    def work(self: Term) -> bool:
        if not self.registry.answers_of:
            self._answers_stirred = set()
        did = real(self)
        if not self.registry.answers_of:
            self._answers_stirred = set()
        return did

    return [put(Term, "work", work)]


BUGS: Final[Bugs] = {
    "start before the stop is answered": _start_before_the_stop_is_answered,
    "any answer frees": _any_answer_frees,
    "a start only adds": _a_start_only_adds,
    "obey what is older": _obey_what_is_older,
    "watch the members after the read": _watch_the_members_after_the_read,
    "a term outlives its connection": _a_term_outlives_its_connection,
    "a start is a right": _a_start_is_a_right,
    "elected, whichever candidate is": _elected_whichever_candidate_is,
    "channels of the dead stay": _channels_of_the_dead_stay,
    "the dead keep what they held": _the_dead_keep_what_they_held,
    "one who is back was never away": _one_who_is_back_was_never_away,
    "who is listed was always there": _who_is_listed_was_always_there,
    "the answers are not asked for at first": _the_answers_are_not_asked_for_at_first,
}
