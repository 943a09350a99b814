"""Commits, proves and replays partitions that are read without being owned.

Three conditions are proved at each boundary: the group has no members, the partitions have no
owner, and no fence has moved. If one does not hold, the query ends with an error: another client
may be reading the partitions now, or may have set the offset by hand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import AssignmentError, FencedError
from pyspark_zkgroup.group.ops import Done, Refused
from pyspark_zkgroup.group.ownership import Held, Known, answered
from pyspark_zkgroup.group.paths import coordinated_ids
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.assign.rules import unowned
from pyspark_zkgroup.protocols.owned.claims import Way
from pyspark_zkgroup.protocols.owned.commits import demand_answers, read_offsets
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules.outcomes import committed

TAKEN = Way(unowned.take, owner_version=0)
_log = logging.getLogger("pyspark_zkgroup.group")


class OffsetFences:
    """Holds partitions by the fences of offset nodes alone, so there is no owner to wait for."""

    owns = False

    def commit(self, context: MemberContext) -> None:
        """Commit what is finished, of partitions already taken or still known from the checkpoint.

        If the commit of a partition that is not taken is refused, the group's offset counts.
        """
        known, held = context.holdings.known, context.holdings.held
        _resolve(context, [p for p, k in known.items() if k.doubt is not None])
        pending = sorted(p for p, k in known.items() if k.unsettled)
        if not pending:
            return
        _ensure(context, pending)
        found = context.store.commit(
            [unowned.commit(context.paths, p, context.thread(0), known[p]) for p in pending]
        )
        answers = dict(zip(pending, found, strict=True))
        context.holdings.apply([committed(p, known[p], o) for p, o in answers.items()])
        refused = [p for p, outcome in answers.items() if isinstance(outcome, Refused)]
        for partition in set(refused) - held.keys():
            context.holdings.hand_on(partition)
        demand_answers(found, "commits")
        _end_if(context, [p for p in refused if p in held])

    def prove(self, context: MemberContext) -> bool:
        known = context.holdings.known
        partitions = sorted(context.holdings.held)
        outcomes = context.store.commit(
            [unowned.prove(context.paths, p, context.thread(0), known[p]) for p in partitions]
        )
        offsets = read_offsets(context, partitions)
        refuse_members(context)
        demand_answers(outcomes, "proofs")
        # A node that was recreated may have reached the version that we know.
        moved = [
            p
            for p, outcome in zip(partitions, outcomes, strict=True)
            if not isinstance(outcome, Done)
            or p not in offsets
            or offsets[p].node != known[p].fence
        ]
        _end_if(context, moved)
        return True

    def replay(
        self, context: MemberContext, plan: Plan, wait: Callable[[float], None]
    ) -> frozenset[TopicPartition]:
        del wait  # there is no owner to wait for
        undecided = {r.partition: r for r in plan.ranges if len(r.range) > 0}
        _ensure(context, undecided)
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
                        catalogue.warning("ZKG-134", partition=partition, range=planned.range)
                    )
                    continue
                included.add(partition)
                offset = offsets[partition]
                value = -1 if offset.value is None else offset.value
                context.holdings.known[partition] = Known(offset.node, planned.range.start, value)
                context.holdings.held[partition] = Held(planned.thread, 0)
        return frozenset(included)


def refuse_members(context: MemberContext) -> None:
    group = context.paths.group
    listed = context.store.children([context.paths.ids, coordinated_ids(group)], watch=True)
    members = sorted(name for found in listed if found for name in found.names)
    if members:
        raise AssignmentError.of(
            "assign_in_live_group", group=group, members=", ".join(members[:5])
        )


def _ensure(context: MemberContext, partitions: Collection[TopicPartition]) -> None:
    topics = {p.topic for p in partitions}
    context.store.ensure({context.paths.owner_topic(t) for t in topics})
    context.store.ensure({context.paths.offset_topic(t) for t in topics})


def _resolve(context: MemberContext, doubtful: Collection[TopicPartition]) -> None:
    if doubtful:
        context.store.sync()
        known = context.holdings.known
        for partition, offset in read_offsets(context, doubtful).items():
            known[partition] = answered(known[partition], offset)


def _end_if(context: MemberContext, refused: Sequence[TopicPartition]) -> None:
    """End the query, by a transaction: these partitions have an owner, or their fences have
    moved.
    """
    if not refused:
        return
    refuse_members(context)
    paths = ", ".join(context.paths.offset(p) for p in refused[:5])
    raise FencedError.of("offsets_changed", paths=paths)
