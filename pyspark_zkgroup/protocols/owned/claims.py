"""Releasing what moves away, claiming what is free, and the proof before a plan."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group import claim, obstacle
from pyspark_zkgroup.group.ops import Done, InDoubt, Refused
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned import commits
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.footing import Footing
from pyspark_zkgroup.protocols.owned.group_view import read_owned, read_owners
from pyspark_zkgroup.zk.port import DisconnectedError

_ROUNDS_MAX = 4
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(slots=True)
class Moved:
    """What one rebalance did. `waiting`: ours by the target, with the reason why it is not held.

    `again`: look at once; `later`: somebody must mend a node first, of which no watch tells.
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
    f: Footing,
    target: Mapping[TopicPartition, int],
    topics: Collection[str],
    first: FirstOffsets,
    registered: Collection[str],
    owned: Set[TopicPartition] | None = None,
) -> Moved:
    """Bring what we hold to what the target gives us; `topics` are all that the group reads.
    `owned`: what is taken to be owned, where nobody looks at all owner nodes.
    """
    moved = Moved()
    held = f.holdings.held
    own_topics = {p.topic for p in (*target, *held)} | set(topics)
    if f.holdings.doubtful:
        # A claim was executed and its answer lost; the server we are connected to by now may not
        # have seen it, and would show us a partition without an owner: ourselves.
        f.store.sync()
    if owned is None:
        owned = read_owned(f.store, f.paths, own_topics)
    doubtful = frozenset(f.holdings.doubtful)
    asked = ((target.keys() - held.keys()) & owned) | doubtful
    owners = read_owners(f.store, f.paths, asked)
    plan = claim.moves(target=target, held=held, owned=owned, owners=owners, session=f.session)
    _lose_vanished(f, plan.vanished, moved)
    f.callback.tell("release", plan.release)
    _release(f, plan.release, moved)
    _rethread(f, plan.rethread, target)
    _adopt(f, plan.adopt, owners)
    f.holdings.doubtful -= doubtful
    commits.delete_own(f, {p: owners[p] for p in plan.remove})
    for partition in plan.wait:
        path = f.paths.owner(partition)
        moved.waiting[partition] = obstacle.owned(path, owners[partition], registered)
    f.holdings.stale.update(owned - held.keys())
    begin_anew(f, first, moved.waiting)
    moved.again |= bool(first.made_anew)
    Claiming(f, target, first, moved).run(list(plan.claim))
    first.note_group(f)
    f.callback.tell("claim", (*plan.adopt, *moved.claimed))
    moved.owned = frozenset((owned | set(moved.claimed)) - set(moved.released))
    return moved


def _lose_vanished(f: Footing, vanished: Collection[TopicPartition], moved: Moved) -> None:
    """Deleted by somebody while our session lives. Finished work is settled before the claims."""
    unsettled = False
    for partition in vanished:
        _log.warning("[ZKG-123] the owner node of %s was deleted by somebody else", partition)
        moved.lost.append(partition)
        f.holdings.held.pop(partition)
        f.callback.tell("loss", [partition])
        if f.holdings.known[partition].unsettled:
            unsettled = True
        else:
            f.holdings.set_aside(partition)
    if unsettled:
        commits.commit_finished(f)


def begin_anew(f: Footing, first: FirstOffsets, waiting: dict[TopicPartition, str]) -> None:
    """What is held of topics that were made anew since it was claimed. Until the new logs' starts
    are known nothing of them is planned (`first.made_anew`).
    """
    known = f.holdings.known
    positions = {p: known[p].done for p in f.holdings.held if p.topic in first.made_anew}
    starts = first.begin_anew(f, positions, waiting)
    for partition, start in starts.items():
        known[partition] = replace(known[partition], done=start)
    first.made_anew = {p.topic for p in positions if p not in starts}


def _release(f: Footing, partitions: Collection[TopicPartition], moved: Moved) -> None:
    known, held = f.holdings.known, f.holdings.held
    free = [p for p in partitions if not known[p].unsettled]
    moved.again |= len(free) < len(partitions)
    ours = _still_ours(f, free)
    for partition in [p for p in free if p not in ours]:
        free.remove(partition)
        f.holdings.hand_on(partition)
        moved.lost.append(partition)
    outcomes = f.store.commit([claim.release_request(f.paths, p, known[p], held[p]) for p in free])
    refused: list[TopicPartition] = []
    unanswered: list[TopicPartition] = []
    for partition, outcome in zip(free, outcomes, strict=True):
        if isinstance(outcome, InDoubt):
            # Perhaps released, and another's already: not to be planned, whatever the lease says.
            f.holdings.doubtful.add(partition)
            f.holdings.set_aside(partition)
            unanswered.append(partition)
            continue
        if isinstance(outcome, Refused):
            # Somebody wrote the offset blindly, or deleted it: leave it as it is, and go.
            refused.append(partition)
        f.holdings.hand_on(partition)
        moved.released.append(partition)
    if refused:
        commits.drop(f, refused)
    if unanswered:
        raise DisconnectedError(f"{len(unanswered)} releases were not answered")


def _still_ours(f: Footing, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    """No transaction compares the session of an owner node. Where all nodes of the group were lost
    and made again, another member's nodes have the versions that ours had.
    """
    owners = read_owners(f.store, f.paths, partitions) if partitions else {}
    return {p for p, owner in owners.items() if owner.session == f.session}


def _rethread(
    f: Footing, partitions: Collection[TopicPartition], target: Mapping[TopicPartition, int]
) -> None:
    """A move between our own threads rewrites the node's text: the partition is never free in
    between.
    """
    known, held = f.holdings.known, f.holdings.held
    # What is not ours any more, or is refused, stays as it is: the proof before the next plan drops
    # it.
    ours = sorted(_still_ours(f, partitions))
    outcomes = f.store.commit(
        [claim.rethread_request(f.paths, p, f.thread(target[p]), known[p], held[p]) for p in ours]
    )
    for partition, outcome in zip(ours, outcomes, strict=True):
        if isinstance(outcome, Done):
            held[partition] = Held(target[partition], outcome.written[0].version)
        elif isinstance(outcome, InDoubt):
            raise DisconnectedError("a change of thread was not answered")


def _adopt(
    f: Footing,
    adopted: Collection[TopicPartition],
    owners: Mapping[TopicPartition, OwnerRead],
) -> None:
    """Claims of this session whose answer was lost, where they are still wanted."""
    offsets = commits.read_offsets(f, adopted)
    for partition in adopted:
        offset = offsets.get(partition)
        if offset is None or offset.value is None:
            continue
        owner = owners[partition]
        number = int(owner.text.rpartition("-")[2])
        f.holdings.held[partition] = Held(number, owner.version)
        f.holdings.known[partition] = Known(offset.node, offset.value, offset.value)


@dataclass(slots=True)
class Claiming:
    f: Footing
    target: Mapping[TopicPartition, int]
    first: FirstOffsets
    moved: Moved

    def run(self, pending: list[TopicPartition]) -> None:
        if not pending:
            return
        f = self.f
        topics = {p.topic for p in pending}
        f.store.ensure({f.paths.owner_topic(t) for t in topics})
        f.store.ensure({f.paths.offset_topic(t) for t in topics})
        for _ in range(_ROUNDS_MAX):
            offsets = self.first.read(f, pending, self.moved.waiting)
            self.moved.again |= len(offsets) < len(pending)
            pending = [p for p in pending if p in offsets]
            starts = self._starts(pending, offsets)
            pending = self._claim(sorted(starts), starts, offsets)
            if not pending:
                return
        self.moved.again = True

    def _starts(
        self, pending: Collection[TopicPartition], offsets: Mapping[TopicPartition, OffsetRead]
    ) -> dict[TopicPartition, int]:
        starts: dict[TopicPartition, int] = {}
        unset: list[TopicPartition] = []
        older: dict[TopicPartition, int] = {}
        for partition in pending:
            offset = offsets[partition]
            start = claim.claim_start(self.f.holdings.known.get(partition), offset)
            if start is not None and self.first.is_of_another_life(partition, offset):
                older[partition] = start
            elif start is not None:
                starts[partition] = start
            elif offset.value is None:
                path = self.f.paths.offset(partition)
                self.moved.waiting[partition] = obstacle.bad_offset(path, offset.raw)
                self.moved.later = True
            else:
                # A negative offset: to JVM members a partition that has none yet.
                unset.append(partition)
        self._heed_kafka(starts, unset)
        starts.update(self.first.resolve(unset))
        starts.update(self.first.begin_anew(self.f, older, self.moved.waiting))
        self.moved.again |= not older.keys() <= starts.keys()
        return starts

    def _heed_kafka(self, starts: dict[TopicPartition, int], unset: list[TopicPartition]) -> None:
        """Where an offset in Kafka counts. While the brokers do not tell it, those partitions wait:
        from ZooKeeper's alone they might begin long before it.
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
        """Partitions to be tried again with freshly read nodes come back."""
        f = self.f
        outcomes = f.store.commit(
            [
                claim.claim_request(f.paths, p, f.thread(self.target[p]), offsets[p], starts[p])
                for p in partitions
            ]
        )
        retry: list[TopicPartition] = []
        doubtful: list[TopicPartition] = []
        for partition, outcome in zip(partitions, outcomes, strict=True):
            if isinstance(outcome, Done):
                f.holdings.held[partition] = Held(self.target[partition], 1)
                start = starts[partition]
                f.holdings.known[partition] = Known(outcome.written[-1], start, start)
                f.holdings.parked.discard(partition)
                f.holdings.stale.discard(partition)
                self.moved.claimed.append(partition)
            elif isinstance(outcome, InDoubt):
                doubtful.append(partition)
            elif outcome.index == 0 and outcome.reason == "exists":
                # Or a claim of our own that was sent before, and has arrived only now.
                f.holdings.doubtful.add(partition)
                self.moved.waiting[partition] = "another member has just claimed it"
            else:
                retry.append(partition)
        if doubtful:
            f.holdings.doubtful.update(doubtful)
            raise DisconnectedError(f"{len(doubtful)} claims were not answered")
        return retry


def prove(f: Footing) -> bool:
    """In one go: each owner node and each fence is as we left it; then, that the nodes are of this
    very session, and of the lives we know: a group that was deleted, imported and written once more
    comes back to a version that we had.

    The reads come after the transaction on the same connection, so the server has seen at least as
    much. What fails is dropped, or settled where nobody took it.
    """
    known, held = f.holdings.known, f.holdings.held
    partitions = sorted(held)
    outcomes = f.store.commit(
        [claim.proof_request(f.paths, p, known[p], held[p]) for p in partitions]
    )
    *nodes, registration = f.store.nodes(
        [
            *(f.paths.owner(p) for p in partitions),
            *(f.paths.offset(p) for p in partitions),
            f.paths.id(f.consumer),
        ]
    )
    owners, offsets = nodes[: len(partitions)], nodes[len(partitions) :]
    if registration is not None and registration.ephemeral_owner != f.session:
        raise commits.fenced(f, f"{f.paths.id(f.consumer)} is in the hands of another session")
    if any(isinstance(outcome, InDoubt) for outcome in outcomes):
        raise DisconnectedError("the proof was not answered")
    failed = [
        p
        for p, outcome, owner, offset in zip(partitions, outcomes, owners, offsets, strict=True)
        if not isinstance(outcome, Done)
        or owner is None
        or owner.ephemeral_owner != f.session
        or offset is None
        or offset.node != known[p].fence
    ]
    if failed:
        commits.reconsider(f, failed)
    return not failed and registration is not None
