"""Decides after a crash which ranges of the unfinished batch are read again.

A transaction proves each decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group import replay
from pyspark_zkgroup.group.ops import Done
from pyspark_zkgroup.group.ownership import (
    UNREAD,
    Known,
    OffsetRead,
    parse_offset,
    stands,
    unanswered_of,
    version_of,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.owned.commits import read_offsets
from pyspark_zkgroup.protocols.owned.group_view import read_owners
from pyspark_zkgroup.protocols.owned.member_context import MemberContext

# Our predecessor's session may have a longer timeout than ours; after twice ours its nodes are no
# longer waited for.
_PREDECESSOR_SHARE = 2.0
_LOOK_AGAIN_S = 0.2
_log = logging.getLogger("pyspark_zkgroup.group")


def note_empty_ranges(context: MemberContext, plan: Plan) -> None:
    for planned in plan.ranges:
        fence = version_of(planned.fence)
        if len(planned.range) == 0 and fence is not None:
            until = planned.range.until
            context.holdings.known[planned.partition] = Known(fence, until, UNREAD)
            context.holdings.remembered[planned.partition] = until


def all_taken(context: MemberContext, plan: Plan) -> bool:
    """Return whether every fence has moved permanently: each range will be left out in any case.

    If the member registered before such a replay, the others would release partitions at once.
    These would stay unread during the batch, which is empty, but takes long as a driver's first
    one. This is a look only; a transaction still proves that each range is left out.
    """
    ranges = {r.partition: r for r in plan.ranges if len(r.range) > 0}
    context.store.sync()
    offsets = read_offsets(context, ranges)
    return all(
        p in offsets and not stands(planned.fence, offsets[p]) for p, planned in ranges.items()
    )


def replay_ranges(
    context: MemberContext, plan: Plan, wait: Callable[[float], None]
) -> frozenset[TopicPartition]:
    """Wait at most for as long as our own predecessor's session may live."""
    undecided = {r.partition: r for r in plan.ranges if len(r.range) > 0}
    included: set[TopicPartition] = set()
    context.store.ensure({context.paths.owner_topic(p.topic) for p in undecided})
    context.store.ensure({context.paths.offset_topic(p.topic) for p in undecided})
    patience_s = context.store.session.negotiated_timeout_s * _PREDECESSOR_SHARE
    give_up_at = context.clock.monotonic() + patience_s
    said: set[str] = set()
    while undecided:
        waited_out = context.clock.monotonic() > give_up_at
        waiting_for = _decide_round(context, undecided, included, waited_out)
        if waiting_for - said:
            said |= waiting_for
            _log.warning(
                catalogue.warning(
                    "ZKG-132", wait_s=patience_s, threads=", ".join(sorted(waiting_for))
                )
            )
        if undecided and waiting_for:
            wait(_LOOK_AGAIN_S)
    _log.info("Replay: %d ranges are read again", len(included))
    context.callback.tell("claim", included)
    return frozenset(included)


def _decide_round(
    context: MemberContext,
    undecided: dict[TopicPartition, PlannedRange],
    included: set[TopicPartition],
    waited_out: bool,
) -> set[str]:
    """Read once, and run one transaction for each range that can be decided now.

    Returns the members for which the other ranges wait.
    """
    context.store.sync()
    owners = read_owners(context.store, context.paths, undecided)
    offsets = read_offsets(context, undecided)
    answers = {
        p: replay.decide(
            context.paths,
            planned,
            session=context.session,
            thread=context.thread(planned.thread),
            static=context.static,
            owner=owners.get(p),
            offset=offsets.get(p),
            waited_out=waited_out,
        )
        for p, planned in undecided.items()
    }
    asked = [p for p, a in answers.items() if not isinstance(a, replay.WaitFor)]
    outcomes = context.store.commit([answers[p].request for p in asked])  # type: ignore[union-attr]
    for partition, outcome in zip(asked, outcomes, strict=True):
        answer = answers[partition]
        # Refused or not answered: the nodes are read again, and it is decided again.
        if not isinstance(outcome, Done):
            continue
        planned = undecided.pop(partition)
        if isinstance(answer, replay.Include):
            _include(context, planned, answer, offsets[partition])
            included.add(partition)
        elif isinstance(answer, replay.LeaveOut):
            context.holdings.remembered[partition] = planned.range.start
            owner = owners.get(partition)
            if owner is not None and owner.session == context.session:
                # Our claim of an earlier round was executed and its answer lost. Then an operator
                # set the offset. The next look takes the node over or deletes it.
                context.holdings.doubtful.add(partition)
            if partition in offsets:
                context.holdings.stale.add(partition)
            else:
                context.holdings.lost_topics.add(partition.topic)
            _log.warning(
                catalogue.warning(
                    "ZKG-133", partition=partition, range=planned.range, reason=answer.reason
                )
            )
    return {a.owner.text for a in answers.values() if isinstance(a, replay.WaitFor)}


def _include(
    context: MemberContext, planned: PlannedRange, answer: replay.Include, offset: OffsetRead
) -> None:
    value = parse_offset(offset.raw)
    context.holdings.held[planned.partition] = answer.held
    context.holdings.remembered[planned.partition] = planned.range.start
    context.holdings.known[planned.partition] = Known(
        offset.node, planned.range.start, -1 if value is None else value
    )


def finished(plan: Plan) -> dict[TopicPartition, Known]:
    """Return what a plan proves once its batch is known to be done."""
    known: dict[TopicPartition, Known] = {}
    for planned in plan.ranges:
        fence = version_of(planned.fence)
        if fence is not None:
            doubt = unanswered_of(planned.fence)
            known[planned.partition] = Known(fence, planned.range.until, UNREAD, doubt)
    return known


def fences(plan: Plan) -> dict[TopicPartition, Known]:
    """Return fences only, with nothing to settle: the evidence for a static take-over."""
    found = {r.partition: (version_of(r.fence), r.range.start) for r in plan.ranges}
    return {p: Known(fence, at, at) for p, (fence, at) in found.items() if fence is not None}
