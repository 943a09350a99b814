"""Releases what moves away, claims what is free, and proves what is held before a plan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field, replace

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group import claim, obstacle
from pyspark_zkgroup.group.ops import Done, InDoubt, Refused, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.owned import commits
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import read_owned, read_owners
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules import outcomes
from pyspark_zkgroup.zk.port import DisconnectedError

_ROUNDS_MAX = 4
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(slots=True)
class Moved:
    """The result of one rebalance. `waiting` has our partitions that are not held, with the reason.

    `again`: look at once. `later`: a node must be corrected first, which no watch reports.
    """

    claimed: list[TopicPartition] = field(default_factory=list)
    released: list[TopicPartition] = field(default_factory=list)
    lost: list[TopicPartition] = field(default_factory=list)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    owned: frozenset[TopicPartition] = frozenset()
    again: bool = False
    later: bool = False

    def __str__(self) -> str:
        return (
            f"claimed {len(self.claimed)}, released {len(self.released)}, lost {len(self.lost)}, "
            f"waiting for {len(self.waiting)}"
        )


def rebalance(
    context: MemberContext,
    target: Mapping[TopicPartition, int],
    topics: Collection[str],
    first: FirstOffsets,
    registered: Collection[str],
    owned: Set[TopicPartition] | None = None,
) -> Moved:
    """Make what we hold equal to the target; `topics` are all that the group reads.

    `owned` replaces a look at all owner nodes.
    """
    moved = Moved()
    held = context.holdings.held
    own_topics = {p.topic for p in (*target, *held)} | set(topics)
    if context.holdings.doubtful:
        # A claim was executed and its answer lost. The server of the new connection may not have
        # seen it yet, and would show our own partition without an owner.
        context.store.sync()
    if owned is None:
        owned = read_owned(context.store, context.paths, own_topics)
    doubtful = frozenset(context.holdings.doubtful)
    asked = ((target.keys() - held.keys()) & owned) | doubtful
    owners = read_owners(context.store, context.paths, asked)
    plan = claim.moves(
        target=target, held=held, owned=owned, owners=owners, session=context.session
    )
    _lose_vanished(context, plan.vanished, moved)
    context.callback.tell("release", plan.release)
    release(context, plan.release, moved)
    _adopt(context, plan.adopt, owners)
    # An adopted partition may have been claimed for another thread than the one it is assigned to.
    adopted = [p for p in plan.adopt if p in held and held[p].thread != target[p]]
    _rethread(context, (*plan.rethread, *adopted), target)
    context.holdings.doubtful -= doubtful
    commits.delete_own(context, {p: owners[p] for p in plan.remove})
    for partition in plan.wait:
        path = context.paths.owner(partition)
        moved.waiting[partition] = obstacle.owned(path, owners[partition], registered)
    context.holdings.stale.update(owned - held.keys())
    begin_anew(context, first, moved.waiting)
    moved.again |= bool(first.made_anew)
    Claiming(context, target, first, moved, Way(claim.claim_request, 1)).run(list(plan.claim))
    first.note_group(context)
    context.callback.tell("claim", (*plan.adopt, *moved.claimed))
    moved.owned = frozenset((owned | set(moved.claimed)) - set(moved.released))
    return moved


def _lose_vanished(
    context: MemberContext, vanished: Collection[TopicPartition], moved: Moved
) -> None:
    """An operator deleted these owner nodes. Settle finished work before anything is claimed."""
    unsettled = False
    for partition in vanished:
        _log.warning(catalogue.warning("ZKG-123", partition=partition))
        moved.lost.append(partition)
        context.holdings.held.pop(partition)
        context.callback.tell("loss", [partition])
        if context.holdings.known[partition].unsettled:
            unsettled = True
        else:
            context.holdings.set_aside(partition)
    if unsettled:
        commits.commit_finished(context)


def begin_anew(
    context: MemberContext, first: FirstOffsets, waiting: dict[TopicPartition, str]
) -> None:
    """Handle partitions that are held and whose topics were recreated since they were claimed.

    They are not planned until the starts of the new logs are known (`first.made_anew`).
    """
    known = context.holdings.known
    positions = {p: known[p].done for p in context.holdings.held if p.topic in first.made_anew}
    starts = first.begin_anew(context, positions, waiting)
    for partition, start in starts.items():
        known[partition] = replace(known[partition], done=start)
    first.made_anew = {p.topic for p in positions if p not in starts}


def release(context: MemberContext, partitions: Collection[TopicPartition], moved: Moved) -> None:
    known, held = context.holdings.known, context.holdings.held
    free = [p for p in partitions if not known[p].unsettled]
    moved.again |= len(free) < len(partitions)
    ours = still_ours(context, free)
    for partition in [p for p in free if p not in ours]:
        free.remove(partition)
        context.holdings.hand_on(partition)
        moved.lost.append(partition)
    found = context.store.commit(
        [claim.release_request(context.paths, p, known[p], held[p]) for p in free]
    )
    answers = dict(zip(free, found, strict=True))
    context.holdings.apply([outcomes.released(p, o) for p, o in answers.items()])
    moved.released += [p for p, o in answers.items() if not isinstance(o, InDoubt)]
    refused = [p for p, o in answers.items() if isinstance(o, Refused)]
    if refused:
        commits.drop(context, refused)
    commits.demand_answers(found, "releases")


def still_ours(
    context: MemberContext, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OwnerRead]:
    """Return owner nodes of our session, read: no transaction compares the session of a node.

    If all nodes of the group were lost and created again, another member's nodes have the versions
    that ours had.
    """
    owners = read_owners(context.store, context.paths, partitions) if partitions else {}
    return {p: owner for p, owner in owners.items() if owner.session == context.session}


def _rethread(
    context: MemberContext,
    partitions: Collection[TopicPartition],
    target: Mapping[TopicPartition, int],
) -> None:
    """Move partitions between our own threads by rewriting the nodes, so they are never free."""
    known, held = context.holdings.known, context.holdings.held
    ours: list[TopicPartition] = []
    for partition, owner in sorted(still_ours(context, partitions).items()):
        thread = target[partition]
        if owner.text == str(context.thread(thread)):
            # The request was executed before, and its answer was lost.
            context.holdings.held[partition] = Held(thread, owner.version)
        else:
            ours.append(partition)
    found = context.store.commit(
        [
            claim.rethread_request(context.paths, p, context.thread(target[p]), known[p], held[p])
            for p in ours
        ]
    )
    answers = zip(ours, found, strict=True)
    context.holdings.apply([outcomes.rethreaded(p, target[p], o) for p, o in answers])
    commits.demand_answers(found, "changes of thread")


def _adopt(
    context: MemberContext,
    adopted: Collection[TopicPartition],
    owners: Mapping[TopicPartition, OwnerRead],
) -> None:
    """Take over claims of this session whose answer was lost, if the target still has them."""
    offsets = commits.read_offsets(context, adopted)
    for partition in adopted:
        offset = offsets.get(partition)
        if offset is None or offset.value is None:
            continue
        owner = owners[partition]
        number = int(owner.text.rpartition("-")[2])
        context.holdings.held[partition] = Held(number, owner.version)
        context.holdings.known[partition] = Known(offset.node, offset.value, offset.value)


@dataclass(frozen=True, slots=True)
class Way:
    """How to hold a partition: the transaction, and the version that its owner node has then.

    The version is 0 if there is no owner node.
    """

    request: Callable[[GroupPaths, TopicPartition, ThreadId, OffsetRead, int], Transaction]
    owner_version: int


@dataclass(slots=True)
class Claiming:
    context: MemberContext
    target: Mapping[TopicPartition, int]
    first: FirstOffsets
    moved: Moved
    way: Way

    def run(self, pending: list[TopicPartition]) -> None:
        if not pending:
            return
        context = self.context
        topics = {p.topic for p in pending}
        context.store.ensure({context.paths.owner_topic(t) for t in topics})
        context.store.ensure({context.paths.offset_topic(t) for t in topics})
        for _ in range(_ROUNDS_MAX):
            offsets = self.first.read(context, pending, self.moved.waiting)
            self.moved.again |= len(offsets) < len(pending)
            pending = [p for p in pending if p in offsets]
            starts = self.starts_of(pending, offsets)
            pending = self._claim(sorted(starts), starts, offsets)
            if not pending:
                return
        self.moved.again = True

    def starts_of(
        self, pending: Collection[TopicPartition], offsets: Mapping[TopicPartition, OffsetRead]
    ) -> dict[TopicPartition, int]:
        starts: dict[TopicPartition, int] = {}
        unset: list[TopicPartition] = []
        older: dict[TopicPartition, int] = {}
        for partition in pending:
            offset = offsets[partition]
            start = claim.claim_start(self.context.holdings.known.get(partition), offset)
            if start is not None and self.first.is_of_another_life(partition, offset):
                older[partition] = start
            elif start is not None:
                starts[partition] = start
            elif offset.value is None:
                path = self.context.paths.offset(partition)
                self.moved.waiting[partition] = obstacle.bad_offset(path, offset.raw)
                self.moved.later = True
            else:
                # A negative offset: JVM members treat it as none.
                unset.append(partition)
        self._heed_kafka(starts, unset)
        starts.update(self.first.resolve(unset))
        starts.update(self.first.begin_anew(self.context, older, self.moved.waiting))
        self.moved.again |= not older.keys() <= starts.keys()
        return starts

    def _heed_kafka(self, starts: dict[TopicPartition, int], unset: list[TopicPartition]) -> None:
        """Use the offset in Kafka where it counts.

        While the brokers do not return it, those partitions wait: the offset in ZooKeeper alone may
        be much older.
        """
        in_kafka = self.first.in_kafka
        if in_kafka is None:
            return
        asked = {p: starts.get(p) for p in in_kafka.to_compare((*starts, *unset))}
        try:
            found = in_kafka.counting(asked)
        except ServerError as error:
            self.moved.again = True
            for partition in asked:
                self.moved.waiting[partition] = f"its offset in Kafka is not known: {error}"
                starts.pop(partition, None)
            unset[:] = [p for p in unset if p not in asked]
            return
        starts.update(found)
        unset[:] = [p for p in unset if p not in found]

    def _claim(
        self,
        partitions: list[TopicPartition],
        starts: Mapping[TopicPartition, int],
        offsets: Mapping[TopicPartition, OffsetRead],
    ) -> list[TopicPartition]:
        """Claim, and return partitions to try again with nodes read again."""
        context = self.context
        held = {p: Held(self.target[p], self.way.owner_version) for p in partitions}
        found = context.store.commit(
            [
                self.way.request(
                    context.paths, p, context.thread(self.target[p]), offsets[p], starts[p]
                )
                for p in partitions
            ]
        )
        retry: list[TopicPartition] = []
        for partition, outcome in zip(partitions, found, strict=True):
            change = outcomes.claimed(partition, held[partition], starts[partition], outcome)
            context.holdings.apply([change])
            if isinstance(outcome, Done):
                self.moved.claimed.append(partition)
            elif change is None:
                retry.append(partition)
            elif isinstance(outcome, Refused):
                self.moved.waiting[partition] = "another member has just claimed it"
        commits.demand_answers(found, "claims")
        return retry


def prove(context: MemberContext) -> bool:
    """Prove in one transaction that each owner node and each fence is as we left it; then, by
    reads, that the nodes belong to this session and to the lives we know.

    A group that was deleted, imported and written once more returns to a version that we had. The
    reads follow the transaction on the same connection, so the server has seen at least as much.
    What fails is dropped, or settled if no member took it.
    """
    known, held = context.holdings.known, context.holdings.held
    partitions = sorted(held)
    answers = context.store.commit(
        [claim.proof_request(context.paths, p, known[p], held[p]) for p in partitions]
    )
    *nodes, registration = context.store.nodes(
        [
            *(context.paths.owner(p) for p in partitions),
            *(context.paths.offset(p) for p in partitions),
            context.paths.id(context.consumer),
        ]
    )
    owners, offsets = nodes[: len(partitions)], nodes[len(partitions) :]
    if registration is not None:
        commits.refuse_another_holder(context, registration.ephemeral_owner)
    if any(isinstance(outcome, InDoubt) for outcome in answers):
        raise DisconnectedError("the proof was not answered")
    failed = [
        p
        for p, outcome, owner, offset in zip(partitions, answers, owners, offsets, strict=True)
        if not isinstance(outcome, Done)
        or owner is None
        or owner.ephemeral_owner != context.session
        or offset is None
        or offset.node != known[p].fence
    ]
    if failed:
        commits.reconsider(context, failed)
    return not failed and registration is not None
