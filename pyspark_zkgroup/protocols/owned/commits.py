"""Commits what is finished: held partitions under their claim, others by settling.

All commits of a group go in one round trip.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import FencedError
from pyspark_zkgroup.group import settle
from pyspark_zkgroup.group.ops import Delete, Done, InDoubt, Outcome, Refused, Transaction
from pyspark_zkgroup.group.ownership import Known, OffsetRead, OwnerRead, answered
from pyspark_zkgroup.group.settle import NotHeld, Resolution, Verdict
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.group_view import read_owners
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules import outcomes
from pyspark_zkgroup.zk.port import DisconnectedError, partitions_below

# A commit is refused only if another client writes the node at the same moment.
_ROUNDS_MAX = 3
_log = logging.getLogger("pyspark_zkgroup.group")


def read_offsets(
    context: MemberContext, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OffsetRead]:
    names = sorted(partitions)
    nodes = context.store.nodes([context.paths.offset(p) for p in names])
    return {
        p: OffsetRead(n.data, n.node, n.modified)
        for p, n in zip(names, nodes, strict=True)
        if n is not None
    }


def present_offsets(context: MemberContext, topics: Collection[str]) -> set[TopicPartition]:
    """Return the partitions that have an offset node: one request for each topic."""
    names = sorted(topics)
    listed = context.store.children([context.paths.offset_topic(t) for t in names])
    return partitions_below(names, listed)


def commit_finished(context: MemberContext) -> None:
    """Commit all partitions that are finished and not committed yet, held or not."""
    known = context.holdings.known
    # Partitions that are not held are judged by their own nodes, when they are settled: an owner
    # node may be that of a predecessor.
    held = context.holdings.held
    in_doubt = {p: k.doubt for p, k in known.items() if k.doubt is not None and p in held}
    if in_doubt:
        resolve(context, in_doubt)
    for _ in range(_ROUNDS_MAX):
        pending = sorted(p for p in context.holdings.held if known[p].unsettled)
        if not pending:
            break
        _commit_held(context, _of_known_lives(context, pending))
    _settle_not_held(context)


def _of_known_lives(context: MemberContext, pending: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions whose nodes have the life that we know. The others are given up, or
    rebuilt.

    No transaction compares lives. A static member is paused in a batch; all nodes are lost; its
    replacement rebuilds them and registers under the same name. Except for its life, the node is
    the one that the paused member remembers.
    """
    known = context.holdings.known
    found = read_offsets(context, pending)
    same = [p for p in pending if p in found and found[p].node.czxid == known[p].fence.czxid]
    others = set(pending) - set(same)
    if others:
        reconsider(context, sorted(others))
    known.update({p: answered(known[p], found[p]) for p in same})
    return [p for p in same if known[p].unsettled]


def _commit_held(context: MemberContext, pending: list[TopicPartition]) -> None:
    """SIGTERM may end this in the middle: what was sent is in doubt until it is answered."""
    holdings = context.holdings
    known, held = holdings.known, holdings.held
    requests = [
        settle.commit_held(context.paths, context.consumer, p, known[p], held[p]) for p in pending
    ]
    known.update({p: replace(known[p], doubt=known[p].done) for p in pending})
    found = context.store.commit(requests)
    answers = dict(zip(pending, found, strict=True))
    holdings.apply([outcomes.committed(p, known[p], o) for p, o in answers.items()])
    if any(isinstance(outcome, Done) for outcome in found):
        holdings.committed_at = context.clock.monotonic()
    demand_answers(found, "commits")
    # Certainly not executed: if the node has this value, another client has set it.
    refused = {p: known[p].value for p, o in answers.items() if isinstance(o, Refused)}
    if refused:
        resolve(context, refused)


def demand_answers(found: Iterable[Outcome], what: str) -> None:
    unanswered = sum(isinstance(outcome, InDoubt) for outcome in found)
    if unanswered:
        raise DisconnectedError(f"{unanswered} {what} were not answered")


def resolve(context: MemberContext, attempted: Mapping[TopicPartition, int]) -> None:
    """Find out by reads what became of commits that were refused or not answered.

    Never writes an offset.
    """
    context.store.sync()
    owners = read_owners(context.store, context.paths, attempted)
    offsets = read_offsets(context, attempted)
    orphans: dict[TopicPartition, OwnerRead] = {}
    for partition, value in attempted.items():
        found = settle.resolve(
            context.holdings.known[partition],
            attempted=value,
            session=context.session,
            consumer=context.consumer,
            owner=owners.get(partition),
            offset=offsets.get(partition),
        )
        owner = owners.get(partition)
        if not _apply(context, partition, value, found) and owner is not None:
            orphans[partition] = owner
    delete_own(context, orphans)


def reconsider(context: MemberContext, partitions: Collection[TopicPartition]) -> None:
    """Check whether what is held is still ours, and of the life that we know."""
    known = context.holdings.known
    resolve(context, {p: _last_sent(known[p]) for p in partitions})
    for partition in partitions:
        left = known.get(partition)
        if left is not None and partition not in context.holdings.held and not left.unsettled:
            context.holdings.set_aside(partition)


def _last_sent(known: Known) -> int:
    """Return the value of the node if no other client has written it.

    A commit that was never answered may have been executed between the look and the proof, long
    after it was given up.
    """
    return known.value if known.doubt is None else known.doubt


def drop(context: MemberContext, partitions: Collection[TopicPartition]) -> None:
    """Give up partitions that cannot be released in the regular way.

    The session, not only the version, decides which nodes to delete. A is paused; an operator
    deletes its owner node, or its successor under the same member.id takes it over and releases it;
    B claims: its node has version 1 as well, and A, awake again, must not delete it.

    The partitions are in doubt until they are read: the connection may break before, and a
    partition that is not held any more would not be looked at again.
    """
    context.holdings.doubtful.update(partitions)
    context.store.sync()
    owners = read_owners(context.store, context.paths, partitions)
    context.holdings.doubtful.difference_update(partitions)
    delete_own(context, owners)


def delete_own(context: MemberContext, owners: Mapping[TopicPartition, OwnerRead]) -> None:
    """Delete the nodes of this session. If an answer is lost, look again.

    A node that stays would block other members for as long as the session lives.
    """
    own = {p: owner for p, owner in owners.items() if owner.session == context.session}
    outcomes = context.store.commit(
        [(Delete(context.paths.owner(p), o.version),) for p, o in own.items()]
    )
    context.holdings.doubtful.update(
        p for p, outcome in zip(own, outcomes, strict=True) if isinstance(outcome, InDoubt)
    )


def _apply(
    context: MemberContext, partition: TopicPartition, value: int, found: Resolution
) -> bool:
    """Return False if the partition is given up."""
    holdings = context.holdings
    known, held = holdings.known[partition], holdings.held.get(partition)
    if found.verdict is Verdict.FENCED:
        raise fenced(
            context, f"{context.paths.owner(partition)} is in the hands of another session"
        )
    if found.verdict is Verdict.OURS:
        holdings.committed_at = context.clock.monotonic()
    elif found.verdict is Verdict.UNOWNED:
        _log.warning(catalogue.warning("ZKG-124", partition=partition))
    elif found.verdict is Verdict.MISSING:
        _log.warning(
            catalogue.warning(
                "ZKG-125",
                path=context.paths.offset(partition),
                partition=partition,
                offset=known.done,
            )
        )
    elif found.verdict is Verdict.DROP:
        if held is not None:
            context.callback.tell("loss", [partition])
        holdings.dropped += 1
        _log.warning(catalogue.warning("ZKG-126", partition=partition))
    holdings.apply([outcomes.resolved(partition, known, held, value, found)])
    return found.verdict not in (Verdict.MISSING, Verdict.DROP)


def _settle_not_held(context: MemberContext) -> None:
    """Settle under the fence of the plan that read it, whichever member owns the partition, if
    any.
    """
    holdings = context.holdings
    pending = sorted(
        p
        for p, k in holdings.known.items()
        if (k.unsettled or k.doubt is not None)
        and p not in holdings.held
        and p not in holdings.parked
    )
    if not pending:
        return
    context.store.sync()
    owners = read_owners(context.store, context.paths, pending)
    offsets = read_offsets(context, pending)
    requests: dict[TopicPartition, Transaction] = {}
    for partition in pending:
        known = holdings.known[partition]
        if partition in offsets:
            known = holdings.known[partition] = answered(known, offsets[partition])
        if not known.unsettled:
            holdings.set_aside(partition)
            continue
        decided = settle.settle_not_held(
            context.paths,
            partition,
            known,
            thread=context.thread(0),
            owner=owners.get(partition),
            offset=offsets.get(partition),
        )
        if isinstance(decided, NotHeld):
            holdings.apply([outcomes.not_settled(partition, decided)])
        else:
            requests[partition] = decided
    if requests:
        context.store.ensure({context.paths.owner_topic(p.topic) for p in requests})
        _settle(context, requests)


def _settle(context: MemberContext, requests: Mapping[TopicPartition, Transaction]) -> None:
    known = context.holdings.known
    found = context.store.commit(list(requests.values()))
    answers = dict(zip(requests, found, strict=True))
    for partition, outcome in answers.items():
        if isinstance(outcome, Done):
            done = known[partition].done
            _log.info("Committed %s at %d, which was read before the restart", partition, done)
        elif isinstance(outcome, Refused):
            _log.info("Cannot commit %s yet (%s), trying again", partition, outcome.reason)
    context.holdings.apply([outcomes.settled(p, known[p], o) for p, o in answers.items()])
    demand_answers(found, "commits")


def fenced(context: MemberContext, evidence: str) -> FencedError:
    return FencedError.of("taken_over", member=context.consumer, evidence=evidence)


def refuse_another_holder(context: MemberContext, holder: int) -> None:
    """`holder` is the session of our registration node."""
    if holder != context.session:
        path = context.paths.id(context.consumer)
        raise fenced(context, f"{path} is in the hands of another session")
