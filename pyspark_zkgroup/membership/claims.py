"""Releasing what moves away, claiming what is free, and the proof before a plan."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group import claim
from pyspark_zkgroup.group.ops import Delete, Done, InDoubt, Refused, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.membership import commits
from pyspark_zkgroup.membership.first_offsets import FirstOffsets
from pyspark_zkgroup.membership.footing import Footing
from pyspark_zkgroup.membership.group_view import read_owned, read_owners
from pyspark_zkgroup.membership.port import Brokers
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import DisconnectedError

_ROUNDS_MAX = 4
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(slots=True)
class Moved:
    """What one rebalance did. `waiting`: ours by the target, with the reason why it is not held."""

    claimed: list[TopicPartition] = field(default_factory=list)
    released: list[TopicPartition] = field(default_factory=list)
    lost: list[TopicPartition] = field(default_factory=list)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    owned: frozenset[TopicPartition] = frozenset()
    again: bool = False


def rebalance(
    f: Footing,
    target: Mapping[TopicPartition, int],
    topics: Collection[str],
    first: FirstOffsets,
    brokers: Brokers,
) -> Moved:
    """Bring what we hold to what the target gives us; `topics` are all that the group reads."""
    moved = Moved()
    held = f.holdings.held
    own_topics = {p.topic for p in (*target, *held)} | set(topics)
    owned = read_owned(f.store, f.paths, own_topics)
    asked = ((target.keys() - held.keys()) & owned) | f.holdings.doubtful
    owners = read_owners(f.store, f.paths, asked)
    plan = claim.moves(target=target, held=held, owned=owned, owners=owners, session=f.session)
    _lose_vanished(f, plan.vanished, moved)
    _release(f, plan.release, moved)
    _rethread(f, plan.rethread, target)
    _adopt(f, plan.adopt, plan.remove, owners)
    f.holdings.doubtful.clear()
    for partition in plan.wait:
        moved.waiting[partition] = f"owned by {owners[partition].text}"
    Claiming(f, target, first, brokers, moved).run(list(plan.claim))
    moved.owned = frozenset((owned | set(moved.claimed)) - set(moved.released))
    return moved


def _lose_vanished(f: Footing, vanished: Collection[TopicPartition], moved: Moved) -> None:
    """Deleted by somebody while our session lives. Finished work is settled before the claims."""
    unsettled = False
    for partition in vanished:
        _log.warning("the owner node of %s was deleted by somebody else", partition)
        moved.lost.append(partition)
        f.holdings.held.pop(partition)
        if f.holdings.known[partition].unsettled:
            unsettled = True
        else:
            f.holdings.forget(partition)
    if unsettled:
        commits.commit_finished(f)


def _release(f: Footing, partitions: Collection[TopicPartition], moved: Moved) -> None:
    known, held = f.holdings.known, f.holdings.held
    free = [p for p in partitions if not known[p].unsettled]
    moved.again |= len(free) < len(partitions)
    outcomes = f.store.commit([claim.release_request(f.paths, p, known[p], held[p]) for p in free])
    drops: list[Transaction] = []
    for partition, outcome in zip(free, outcomes, strict=True):
        if isinstance(outcome, InDoubt):
            # Still held as far as we know. Once it proves gone, there is nothing left to settle.
            raise DisconnectedError("a release was not answered")
        if isinstance(outcome, Refused) and outcome.reason == "version":
            # Somebody wrote the offset blindly: leave it as it is, and go.
            drops.append((Delete(f.paths.owner(partition), held[partition].owner_version),))
        f.holdings.forget(partition)
        moved.released.append(partition)
    if drops:
        f.store.commit(drops)


def _rethread(
    f: Footing, partitions: Collection[TopicPartition], target: Mapping[TopicPartition, int]
) -> None:
    """A move between our own threads rewrites the node's text: the partition is never free in
    between.
    """
    held = f.holdings.held
    outcomes = f.store.commit(
        [claim.rethread_request(f.paths, p, f.thread(target[p]), held[p]) for p in partitions]
    )
    for partition, outcome in zip(partitions, outcomes, strict=True):
        if isinstance(outcome, Done):
            held[partition] = Held(target[partition], outcome.written[0].version)
        elif isinstance(outcome, InDoubt):
            raise DisconnectedError("a change of thread was not answered")


def _adopt(
    f: Footing,
    adopted: Collection[TopicPartition],
    removed: Collection[TopicPartition],
    owners: Mapping[TopicPartition, OwnerRead],
) -> None:
    """Claims of this session whose answer was lost: kept where still wanted, else taken back."""
    offsets = commits.read_offsets(f, adopted)
    for partition in adopted:
        offset = offsets.get(partition)
        if offset is None or offset.value is None:
            continue
        owner = owners[partition]
        number = int(owner.text.rpartition("-")[2])
        f.holdings.held[partition] = Held(number, owner.version)
        f.holdings.known[partition] = Known(offset.node, offset.value, offset.value)
    f.store.commit([(Delete(f.paths.owner(p), owners[p].version),) for p in removed])


@dataclass(slots=True)
class Claiming:
    f: Footing
    target: Mapping[TopicPartition, int]
    first: FirstOffsets
    brokers: Brokers
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
        for partition in pending:
            offset = offsets[partition]
            start = claim.claim_start(self.f.holdings.known.get(partition), offset)
            if start is not None:
                starts[partition] = start
            elif offset.value is None:
                self.moved.waiting[partition] = (
                    f"{self.f.paths.offset(partition)} holds {offset.raw[:40]!r}, expected a "
                    "decimal offset: set or delete the node"
                )
            else:
                # A negative offset: to JVM members a partition that has none yet.
                unset.append(partition)
        starts.update(self.first.resolve(unset))
        self._leave_unreadable(starts)
        return starts

    def _leave_unreadable(self, starts: dict[TopicPartition, int]) -> None:
        """An offset beyond the end belongs to a topic that was made anew, or was set wrongly.
        Nobody can tell where to go on, so the partition is named and stays free.
        """
        try:
            latest = self.brokers.latest(list(starts))
        except ServerError as error:
            _log.warning("claiming without a look at the log ends: %s", error)
            return
        for partition in list(starts):
            end = latest.get(partition)
            if end is not None and starts[partition] > end:
                self.moved.waiting[partition] = (
                    f"the group's offset {starts[partition]} is beyond the log's end {end}: "
                    f"set {self.f.paths.offset(partition)} or delete it"
                )
                del starts[partition]

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
                self.moved.claimed.append(partition)
            elif isinstance(outcome, InDoubt):
                doubtful.append(partition)
            elif outcome.index == 0 and outcome.reason == "exists":
                self.moved.waiting[partition] = "another member has just claimed it"
            elif outcome.reason == "forbidden":
                self.moved.waiting[partition] = (
                    f"no permission to write {f.paths.owner(partition)} or its offset: "
                    "check zookeeper.auth and the nodes' ACL"
                )
            else:
                retry.append(partition)
        if doubtful:
            f.holdings.doubtful.update(doubtful)
            raise DisconnectedError(f"{len(doubtful)} claims were not answered")
        return retry


def prove(f: Footing) -> bool:
    """In one go: each owner node and each fence is as we left it; then, that the nodes are of this
    very session.

    The reads come after the transaction on the same connection, so the server has seen at least as
    much. What fails is dropped, or settled where nobody took it.
    """
    known, held = f.holdings.known, f.holdings.held
    partitions = sorted(held)
    outcomes = f.store.commit(
        [claim.proof_request(f.paths, p, known[p], held[p]) for p in partitions]
    )
    *nodes, registration = f.store.nodes(
        [*(f.paths.owner(p) for p in partitions), f.paths.id(f.consumer)]
    )
    if registration is not None and registration.ephemeral_owner != f.session:
        raise commits.fenced(f, f"{f.paths.id(f.consumer)} is in the hands of another session")
    if any(isinstance(outcome, InDoubt) for outcome in outcomes):
        raise DisconnectedError("the proof was not answered")
    failed = {
        p: known[p].value
        for p, outcome, node in zip(partitions, outcomes, nodes, strict=True)
        if not isinstance(outcome, Done) or node is None or node.ephemeral_owner != f.session
    }
    if failed:
        commits.resolve(f, failed)
        for partition in failed:
            left = known.get(partition)
            if left is not None and partition not in held and not left.unsettled:
                f.holdings.forget(partition)
    return not failed and registration is not None
