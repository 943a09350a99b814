"""Joins a group: looks at it before anything is written, and creates the registration node."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import AssignmentError, OffsetBeyondEndError, SubscriptionError
from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.group.claim import take_over_request
from pyspark_zkgroup.group.ops import Create, Delete, Done, InDoubt, Transaction
from pyspark_zkgroup.group.paths import coordinated_ids
from pyspark_zkgroup.group.settle import owner_is
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Registration, encode_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.owned.commits import (
    demand_answers,
    fenced,
    present_offsets,
    read_offsets,
)
from pyspark_zkgroup.protocols.owned.group_view import read_owners
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules import outcomes
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.zk.port import DisconnectedError

_PREDECESSOR_SHARE = 2.0
_LOOK_AGAIN_S = 0.2
_HELD = (
    "is held by a live session, and this query has no checkpoint that shows it to be its "
    "predecessor's"
)
_log = logging.getLogger("pyspark_zkgroup.group")


def refuse_conflict(own: Registration, consumer: str, snapshot: Snapshot) -> None:
    others = {c: r for c, r in snapshot.members.items() if c != consumer}
    reason = conflict(own, others)
    if reason:
        raise AssignmentError.of("other_strategy", reason=reason)


def refuse_unsupported(snapshot: Snapshot) -> None:
    """Refuse: if one pattern cannot be read, what the other members own is unknown."""
    for consumer in sorted(snapshot.unsupported):
        raise SubscriptionError.of(
            "pattern_of_member", member=consumer, reason=snapshot.skipped[consumer]
        )


def refuse_coordinated(context: MemberContext) -> None:
    (listed,) = context.store.children([coordinated_ids(context.paths.group)])
    if listed is not None and listed.names:
        named = ", ".join(sorted(listed.names)[:5])
        raise AssignmentError.of("coordinated_members", group=context.paths.group, members=named)


def refuse_offsets_beyond_end(
    context: MemberContext, subscribed: Collection[TopicPartition], brokers: Brokers
) -> None:
    """Refuse, before anything is written, a committed offset beyond the end of its log.

    The log has never reached it, or the topic was recreated. An offset node with garbage is named
    at the claim, where the other partitions continue.
    """
    present = present_offsets(context, {p.topic for p in subscribed})
    offsets = read_offsets(context, [p for p in subscribed if p in present])
    values = {p: o.value for p, o in offsets.items() if o.value is not None}
    ends = brokers.ends(list(values)) if values else {}
    for partition, value in sorted(values.items()):
        end = ends.get(partition)
        if end is not None and value > end:
            path = context.paths.offset(partition)
            raise OffsetBeyondEndError.of(
                "beyond_at_claim", partition=partition, offset=value, end=end, path=path
            )


@dataclass(frozen=True, slots=True)
class RegistrationNode:
    """Creates the registration, or takes over that of a predecessor with the same member.id."""

    registration: Registration
    keeper: SessionKeeper

    def register(self, context: MemberContext, plan: Plan | None, _first: bool) -> None:
        data = encode_registration(stamped(self.registration, context))
        path = context.paths.id(context.consumer)
        context.store.ensure([context.paths.ids], world_open=True)
        give_up_at = context.clock.monotonic() + (
            context.store.session.negotiated_timeout_s * _PREDECESSOR_SHARE
        )
        said = caught_up = False
        request: Transaction
        while True:
            (node,) = context.store.stats([path])
            if node is None:
                request = (Create(path, data, ephemeral=True, world_open=True),)
            elif node.ephemeral_owner == context.session:
                return
            elif not caught_up:
                # Our session expires, and the next one is opened at a server that lags behind: it
                # still shows our own old node.
                caught_up = True
                context.store.sync()
                continue
            elif context.static and is_predecessor(context, plan):
                request = (
                    Delete(path, node.node.version),
                    Create(path, data, ephemeral=True, world_open=True),
                )
            else:
                self._refuse(
                    context, node.ephemeral_owner, is_late=context.clock.monotonic() > give_up_at
                )
                if not said:
                    said = True
                    _log.warning(catalogue.warning("ZKG-130", path=path))
                self.keeper.agenda.wait(_LOOK_AGAIN_S)
                continue
            (outcome,) = context.store.commit([request])
            if isinstance(outcome, Done):
                if node is not None:
                    _log.warning(catalogue.warning("ZKG-131", path=path))
                return
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("the registration was not answered")
            # The parents were there, then all nodes of the group were lost.
            context.store.ensure([context.paths.ids], world_open=True)

    def _refuse(self, context: MemberContext, holder: int, *, is_late: bool) -> None:
        """Refuse another holder of the registration, unless it ends soon.

        We give up our session while no server can be reached. A server is back before the session's
        timeout, and still has our own old registration.
        """
        ours = holder in self.keeper.former
        if ours and is_late:
            raise DisconnectedError("the session that this member gave up has not ended yet")
        if not ours and (not context.static or is_late):
            path = context.paths.id(context.consumer)
            raise fenced(context, f"{path} {_HELD if context.static else 'exists already'}")


def is_predecessor(context: MemberContext, plan: Plan | None) -> bool:
    """Return whether a process of our checkpoint made the owner node.

    Its text must be the thread id of our plan, and the plan's fence unmoved. Only the process that
    logged the plan can have made this node, and Spark runs one query on a checkpoint.
    """
    if plan is None or plan.member != context.consumer:
        return False
    planned = plan.by_partition
    owners = read_owners(context.store, context.paths, planned)
    offsets = read_offsets(context, owners)
    known = context.holdings.known
    return any(
        not owner.is_jvm
        and owner_is(owner, context.consumer)
        and p in offsets
        and p in known
        and offsets[p].node == known[p].fence
        for p, owner in owners.items()
    )


def stamped(registration: Registration, context: MemberContext) -> Registration:
    return replace(registration, timestamp=str(int(context.clock.time() * 1000)))


def take_over_owners(context: MemberContext) -> None:
    """Take over the predecessor's owner nodes under unmoved fences, at once.

    A partition for which this fails is claimed like any other.
    """
    holdings = context.holdings
    wanted = [p for p in holdings.known if p not in holdings.held]
    owners = {
        p: o
        for p, o in read_owners(context.store, context.paths, wanted).items()
        if o.session != context.session and not o.is_jvm and owner_is(o, context.consumer)
    }
    offsets = read_offsets(context, owners)
    ready = sorted(p for p in owners if p in offsets and offsets[p].node == holdings.known[p].fence)
    numbers = {p: int(owners[p].text.rpartition("-")[2]) for p in ready}
    found = context.store.commit(
        [
            take_over_request(
                context.paths, p, context.thread(numbers[p]), holdings.known[p].fence, owners[p]
            )
            for p in ready
        ]
    )
    answers = zip(ready, found, strict=True)
    holdings.apply([outcomes.taken_over(p, numbers[p], o) for p, o in answers])
    demand_answers(found, "take-overs")
