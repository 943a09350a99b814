"""Taking, committing and replaying partitions that are read without being owned."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from pyspark_zkgroup.group.ops import Done, InDoubt
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.assign.rules import unowned
from pyspark_zkgroup.protocols.owned.commits import read_offsets
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import DisconnectedError

_log = logging.getLogger("pyspark_zkgroup.group")


def ensure(context: MemberContext, partitions: Collection[TopicPartition]) -> None:
    topics = {p.topic for p in partitions}
    context.store.ensure({context.paths.owner_topic(t) for t in topics})
    context.store.ensure({context.paths.offset_topic(t) for t in topics})


def take(
    context: MemberContext,
    numbers: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    offsets: Mapping[TopicPartition, OffsetRead],
) -> list[TopicPartition]:
    """Those whose node has changed since it was read come back."""
    requests = [
        unowned.take(context.paths, p, context.thread(numbers[p]), offsets[p], start)
        for p, start in starts.items()
    ]
    changed: list[TopicPartition] = []
    for (partition, start), outcome in zip(
        starts.items(), context.store.commit(requests), strict=True
    ):
        if isinstance(outcome, Done):
            context.holdings.held[partition] = Held(numbers[partition], 0)
            context.holdings.known[partition] = Known(outcome.written[0], start, start)
        else:
            changed.append(partition)
    return changed


def commit(context: MemberContext) -> list[TopicPartition]:
    """What is finished, taken already or still known from the checkpoint. Of what is taken, those
    that were refused come back; of the rest the group's offset counts from here.
    """
    known, held = context.holdings.known, context.holdings.held
    _resolve(context, [p for p, k in known.items() if k.doubt is not None])
    pending = sorted(p for p, k in known.items() if k.unsettled)
    if not pending:
        return []
    ensure(context, pending)
    outcomes = context.store.commit(
        [unowned.commit(context.paths, p, context.thread(0), known[p]) for p in pending]
    )
    refused: list[TopicPartition] = []
    unanswered = 0
    for partition, outcome in zip(pending, outcomes, strict=True):
        done = known[partition].done
        if isinstance(outcome, Done):
            known[partition] = Known(outcome.written[0], done, done)
        elif isinstance(outcome, InDoubt):
            known[partition] = replace(known[partition], doubt=done)
            unanswered += 1
        elif partition in held:
            refused.append(partition)
        else:
            context.holdings.hand_on(partition)
    if unanswered:
        raise DisconnectedError(f"{unanswered} commits were not answered")
    return refused


def _resolve(context: MemberContext, doubtful: Collection[TopicPartition]) -> None:
    if not doubtful:
        return
    context.store.sync()
    known = context.holdings.known
    for partition, offset in read_offsets(context, doubtful).items():
        before = known[partition]
        if before.doubt is not None and unowned.is_own_write(before, offset):
            known[partition] = Known(offset.node, before.done, before.doubt)
        else:
            known[partition] = replace(before, doubt=None)


def replay(
    context: MemberContext,
    numbers: Mapping[TopicPartition, int],
    plan: Plan,
    refuse_members: Callable[[MemberContext], None],
) -> frozenset[TopicPartition]:
    undecided = {r.partition: r for r in plan.ranges if len(r.range) > 0}
    ensure(context, undecided)
    included: set[TopicPartition] = set()
    while undecided:
        context.store.sync()
        refuse_members(context)
        offsets = read_offsets(context, undecided)
        answers = {
            p: unowned.replay(
                context.paths, planned, context.thread(planned.thread), offsets.get(p)
            )
            for p, planned in undecided.items()
        }
        outcomes = context.store.commit([request for _, request in answers.values()])
        for (partition, (again, _)), outcome in zip(answers.items(), outcomes, strict=True):
            if not isinstance(outcome, Done):
                continue
            planned = undecided.pop(partition)
            if not again:
                _log.warning(
                    "[ZKG-134] replay: %s %s is left out, now and for ever: its offset was changed",
                    partition,
                    planned.range,
                )
                continue
            included.add(partition)
            offset = offsets[partition]
            value = -1 if offset.value is None else offset.value
            context.holdings.known[partition] = Known(offset.node, planned.range.start, value)
            context.holdings.held[partition] = Held(numbers.get(partition, planned.thread), 0)
    return frozenset(included)
