"""Bugs, each planted by replacing one function of the product: the simulation must find them all.

They are those that the old consumer, its imitations and earlier readings of our own rules had. A
name ends with the trace of rules and hazards it stands for where there is one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from threading import current_thread
from typing import Any, Final

from pyspark_zkgroup.group import claim, replay, settle
from pyspark_zkgroup.group.ops import Check, Delete, NodeVersion, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.owned import claims, commits
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.claims import Claiming, Moved
from pyspark_zkgroup.protocols.owned.group_view import GroupReader, GroupView, read_owners
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.owned.rebalancing import rebalance
from pyspark_zkgroup.protocols.owned.rules import outcomes
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.owned.tenure import OwnerNodes
from pyspark_zkgroup.ranges.positions import first_positions
from tests.sim.planting import Bugs, Patches, put

_ANY = -1


def _release_whatever_is_there() -> Patches:
    """The old consumer's deletePath: it deletes the node, whichever member owns it by now."""

    def request(paths: GroupPaths, tp: TopicPartition, _known: Known, _held: Held) -> Transaction:
        return (Delete(paths.owner(tp), _ANY),)

    def delete(context: MemberContext, owners: Mapping[TopicPartition, OwnerRead]) -> None:
        context.store.commit([(Delete(context.paths.owner(p), _ANY),) for p in owners])

    return [
        put(claim, "release_request", request),
        put(commits, "delete_own", delete),
    ]


def _commit_what_is_planned() -> Patches:
    real = Planner.partitions

    def partitions(self: Planner, start: Any, end: Any) -> list[TaskInput]:
        tasks = real(self, start, end)
        self.membership.boundary(self.boundary.batch.done)
        return tasks

    return [put(Planner, "partitions", partitions)]


def _keep_a_claim_whose_answer_was_lost() -> Patches:
    """In ZooKeeper it is ours permanently, in memory it belongs to another member."""
    return [put(claim, "moves", partial(_moves_without_owner, claim.moves))]


def _moves_without_owner(real: Callable[..., claim.Moves], **facts: Any) -> claim.Moves:
    return real(**{**facts, "session": _ANY})


def _commit_without_the_fence() -> Patches:
    def request(
        paths: GroupPaths, _consumer: str, tp: TopicPartition, known: Known, _held: Held
    ) -> Transaction:
        return (SetData(paths.offset(tp), b"%d" % known.done, _ANY),)

    return [put(settle, "commit_held", request)]


def _claim_where_we_once_were() -> Patches:
    real = Claiming.starts_of

    def starts(
        self: Claiming,
        pending: Collection[TopicPartition],
        offsets: Mapping[TopicPartition, OffsetRead],
    ) -> dict[TopicPartition, int]:
        found = real(self, pending, offsets)
        once = {p: self.context.holdings.position_of(p) for p in found}
        return {p: once[p] or start for p, start in found.items()}

    return [put(Claiming, "starts_of", starts)]


def _latest_for_what_appears_later() -> Patches:
    real = first_positions

    def positions(
        starting: Any, _known_topic: bool, *ends: Any, may_lose: bool
    ) -> dict[TopicPartition, int]:
        return real(starting, False, *ends, may_lose=may_lose)

    return [
        put(
            import_module("pyspark_zkgroup.protocols.owned.first_offsets"),
            "first_positions",
            positions,
        )
    ]


def _replay_under_any_owner() -> Patches:
    real = replay.decide

    def decide(paths: GroupPaths, planned: Any, **facts: Any) -> Any:
        if facts["offset"] is None:
            return real(paths, planned, **facts)
        return replay.Include(Held(facts["thread"].number, 1))

    return [put(replay, "decide", decide)]


def _leave_out_by_who_owns_it_now() -> Patches:
    real = replay.decide

    def decide(paths: GroupPaths, planned: Any, **facts: Any) -> Any:
        owner, offset = facts["owner"], facts["offset"]
        if offset is not None and owner is not None and owner.session != facts["session"]:
            node = paths.offset(planned.partition)
            return replay.LeaveOut((Check(node, offset.node.version),), "it is owned")
        return real(paths, planned, **facts)

    return [put(replay, "decide", decide)]


def _replay_moves_the_fence() -> Patches:
    real = replay._claim

    def request(paths: GroupPaths, planned: Any, thread: Any, offset: OffsetRead) -> Transaction:
        *node, _check = real(paths, planned, thread, offset)
        return (*node, SetData(paths.offset(planned.partition), offset.raw, offset.node.version))

    return [put(replay, "_claim", request)]


class _Unwatched:
    """A store that arms no watch."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def nodes(self, paths: Any, *, watch: bool = False) -> Any:
        return self._store.nodes(paths)

    def stats(self, paths: Any, *, watch: bool = False) -> Any:
        return self._store.stats(paths)

    def children(self, paths: Any, *, watch: bool = False) -> Any:
        return self._store.children(paths)


def _arm_the_watches_after_the_look() -> Patches:
    def look(self: GroupReader, store: Any, changed_meanwhile: Callable[[], bool]) -> GroupView:
        view = self._look_once(_Unwatched(store))
        self._look_once(store)
        changed_meanwhile()
        return view

    return [put(GroupReader, "look", look)]


def _expiry_only_by_its_event() -> Patches:
    def may_plan(self: SessionKeeper) -> bool:
        return self.session is not None and self.session.alive

    return [put(SessionKeeper, "may_plan", property(may_plan))]


def _members_that_count_differently() -> Patches:
    """Round-robin on an order of the member's own."""
    real = target

    def differently(snapshot: Any, strategy: str, order: str, exclude_internal: bool) -> Any:
        odd = zlib.crc32(current_thread().name.encode()) % 2
        return real(snapshot, "roundrobin", "old" if odd else "new", exclude_internal)

    return [
        put(
            import_module("pyspark_zkgroup.protocols.zookeeper.computed_target"),
            "target",
            differently,
        )
    ]


def _commit_at_any_end() -> Patches:
    return [put(Planner, "_is_finished", lambda _self, _end: True)]


def _settle_whatever_is_there() -> Patches:
    def request(
        paths: GroupPaths,
        tp: TopicPartition,
        known: Known,
        *,
        thread: Any,
        owner: OwnerRead | None,
        offset: OffsetRead | None,
    ) -> Any:
        if offset is None:
            return settle.NotHeld.REBUILD
        return (SetData(paths.offset(tp), b"%d" % known.done, _ANY),)

    return [put(settle, "settle_not_held", request)]


def _repair_a_refused_commit() -> Patches:
    """A version that has moved under our own node is taken for a blind JVM writer's, and ours is
    written again.
    """
    real = settle.resolve

    def resolve(known: Known, **facts: Any) -> settle.Resolution:
        owner, offset = facts["owner"], facts["offset"]
        if offset is not None and owner is not None and owner.session == facts["session"]:
            return settle.Resolution(settle.Verdict.AGAIN, offset.node, owner.version)
        return real(known, **facts)

    resolved = outcomes.resolved

    def corrected(p: TopicPartition, known: Known, *facts: Any) -> outcomes.Change:
        found: settle.Resolution = facts[-1]
        if found.verdict is settle.Verdict.AGAIN and found.fence is not None:
            known = replace(known, fence=found.fence)
        return resolved(p, known, *facts)

    return [put(settle, "resolve", resolve), put(outcomes, "resolved", corrected)]


def _no_proof_before_the_plan() -> Patches:
    return [put(OwnerNodes, "prove", lambda _self, _context: True)]


def _a_version_is_a_fence() -> Patches:
    """Without the node's life: after a delete and an import the version comes back."""

    def same(self: NodeVersion, other: object) -> bool:
        return isinstance(other, NodeVersion) and self.version == other.version

    return [
        put(NodeVersion, "__eq__", same),
        put(NodeVersion, "__hash__", lambda self: hash(self.version)),
    ]


def _release_before_the_commit() -> Patches:
    def release(
        context: MemberContext, partitions: Collection[TopicPartition], moved: Moved
    ) -> None:
        held = context.holdings.held
        context.store.commit(
            [(Delete(context.paths.owner(p), held[p].owner_version),) for p in partitions]
        )
        for partition in partitions:
            context.holdings.forget(partition)
            moved.released.append(partition)

    real = OwnedMembership.step

    def step(self: OwnedMembership, context: MemberContext) -> None:
        if self.agenda.joined and self.agenda.stirred():
            rebalance(context, self.joining, self.waiting)
        real(self, context)

    return [
        put(claims, "release", release),
        put(OwnedMembership, "step", step),
    ]


def _drained_before_the_commit() -> Patches:
    def drained(self: Planner, start: Any) -> Any:
        self.drain.acknowledge()
        return start

    return [put(Planner, "_drained", drained)]


def _keep_what_the_session_held() -> Patches:
    """After an expiry: the member's memory is as it was."""
    real = SessionKeeper.lose

    def lose(self: SessionKeeper) -> None:
        held = dict(self.member.holdings.held)
        real(self)
        self.member.holdings.held.update(held)

    return [put(SessionKeeper, "lose", lose)]


def forget_what_was_closed() -> Patches:
    """Given up while the coordinator could not be informed, and back before its timeout."""

    def close(self: SessionKeeper) -> None:
        if self.session is not None:
            self.session.close()

    return [put(SessionKeeper, "close", close)]


def _a_successors_node_has_the_version_of_ones_own() -> Patches:
    """The owner is then in nothing that a transaction can check. (The look before it leaves so
    short a moment that no seed would find this alone.)
    """

    def version(_owner: OwnerRead) -> int:
        return 1

    def still_ours(
        context: MemberContext, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OwnerRead]:
        return read_owners(context.store, context.paths, partitions) if partitions else {}

    return [
        put(claim, "taken_over_version", version),
        put(replay, "taken_over_version", version),
        put(claims, "still_ours", still_ours),
    ]


def _rethread_by_the_version_alone() -> Patches:
    def request(
        paths: GroupPaths, tp: TopicPartition, thread: ThreadId, _known: Known, held: Held
    ) -> Transaction:
        return (SetData(paths.owner(tp), str(thread).encode(), held.owner_version),)

    def still_ours(
        context: MemberContext, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OwnerRead]:
        return read_owners(context.store, context.paths, partitions) if partitions else {}

    return [put(claim, "rethread_request", request), put(claims, "still_ours", still_ours)]


def _look_again_only_when_idle() -> Patches:
    def is_due(self: Agenda) -> bool:
        return self.stirred() and self.member.clock.monotonic() >= self.not_before

    return [put(Agenda, "is_due", is_due)]


BUGS: Final[Bugs] = {
    "release whatever is there": _release_whatever_is_there,
    "commit what is planned": _commit_what_is_planned,
    "keep a claim whose answer was lost": _keep_a_claim_whose_answer_was_lost,
    "commit without the fence": _commit_without_the_fence,
    "claim where we once were": _claim_where_we_once_were,
    "latest for what appears later (F12)": _latest_for_what_appears_later,
    "replay under any owner": _replay_under_any_owner,
    "leave out by who owns it now (F1, F2)": _leave_out_by_who_owns_it_now,
    "replay moves the fence (F3)": _replay_moves_the_fence,
    "arm the watches after the look": _arm_the_watches_after_the_look,
    "expiry only by its event": _expiry_only_by_its_event,
    "members that count differently": _members_that_count_differently,
    "commit at any end (F7)": _commit_at_any_end,
    "settle whatever is there (F6, F11)": _settle_whatever_is_there,
    "repair a refused commit (F3)": _repair_a_refused_commit,
    "no proof before the plan (F5)": _no_proof_before_the_plan,
    "a version is a fence (F10)": _a_version_is_a_fence,
    "release before the commit": _release_before_the_commit,
    "drained before the commit": _drained_before_the_commit,
    "keep what the session held (F9)": _keep_what_the_session_held,
    "take one's former session for a stranger's": forget_what_was_closed,
    "move between threads by the version alone": _rethread_by_the_version_alone,
    "look again only when idle": _look_again_only_when_idle,
    "a successor's node has one's own version": _a_successors_node_has_the_version_of_ones_own,
}
