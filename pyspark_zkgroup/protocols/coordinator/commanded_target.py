"""The target of a member with a coordinator: what its commands assign.

It reads nothing of the other members.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.paths import CoordinatedPaths, topic_path
from pyspark_zkgroup.group.snapshot import Snapshot, partitions_of
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.coordinator.command_channel import Channel
from pyspark_zkgroup.protocols.coordinator.orders import Orders
from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.owned import claims, commits
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.decider import Look, Outlook
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import refuse_offsets_beyond_end
from pyspark_zkgroup.protocols.owned.topics_view import Topics

_AGAIN_S = 1.0
_UNTOLD = "no coordinator has told this member yet what to read"


@dataclass(eq=False, repr=False)
class CommandedTarget:
    """`read_topics` returns the topics that exist when the member joins. `watches`: whether watches
    show when another member's owner node goes.
    """

    options: Options
    agenda: Agenda
    first: FirstOffsets
    channel: Channel
    read_topics: Callable[[MemberContext], Topics]
    watches: bool = True
    told: bool = True
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}))
    target: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    _share_examined: bool = False

    def __post_init__(self) -> None:
        self.emptiness = Emptiness(self.options.group.id, self.agenda.member.clock)

    @property
    def orders(self) -> Orders:
        return self.channel.orders

    def introduce(self, context: MemberContext) -> bool:
        self._refuse_others(context)
        found = self.read_topics(context)
        self.snapshot = Snapshot({}, found.partitions)
        self.notes = (found.note,) if found.note else ()
        return bool(found.source)

    def begin(self, context: MemberContext, first: bool) -> None:
        if first:
            # Two members that join at the same moment, one in each registry, have both looked
            # before either was visible.
            self._refuse_others(context)
        self.channel.begin(context)

    def _refuse_others(self, context: MemberContext) -> None:
        (others,) = context.store.children([CoordinatedPaths(self.options.group.id).other_ids])
        if others is not None and others.names:
            named = ", ".join(sorted(others.names)[:5])
            raise AssignmentError.of(
                "uncoordinated_members", group=self.options.group.id, members=named
            )

    def look(self, context: MemberContext) -> Look:
        before = self.orders.start
        if not self.channel.listen(context):
            self.agenda.stir("the command channel was removed")
        if not self.channel.echo and not self._is_registered(context):
            return Look.UNREGISTERED
        self.channel.obey(context)
        start = self.orders.start
        if start is None:
            # What was taken over or is replayed stays held until a command says otherwise.
            self.notes = (_UNTOLD,)
            self.channel.answer(context)
            return Look.UNDECIDED
        self.notes = ()
        self._examine_share(context, start.share)
        self.snapshot = Snapshot({}, start.topics)
        lives: Mapping[str, int] = {}
        if start is not before:
            lives = _lives_of(context, {p.topic for p in start.share})
        self.first.see(start.topics, lives)
        self.target = {p: context.thread(n) for p, n in self.orders.share.items()}
        return Look.DECIDED

    def _examine_share(self, context: MemberContext, share: Collection[TopicPartition]) -> None:
        """Examine the share once, before anything is claimed.

        What other members read, nearly everything in a large group, is theirs to examine.
        """
        if self._share_examined or not share:
            return
        if self.options.fetch.fail_on_data_loss:
            refuse_offsets_beyond_end(context, share, self.first.brokers)
        self._share_examined = True

    def _is_registered(self, context: MemberContext) -> bool:
        (node,) = context.store.stats([context.paths.id(context.consumer)])
        if node is None:
            return False
        commits.refuse_another_holder(context, node.ephemeral_owner)
        # What was asked right after the registration may not have been answered.
        self.channel.live(node.node.czxid)
        return True

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        held = set(context.holdings.held)
        # If another client deleted a node of ours, the proof shows it; if another member owns one,
        # the claim shows it.
        moved = claims.rebalance(context, mine, (), self.first, (), owned=held)
        if moved.waiting:
            paths = [context.paths.owner(p) for p in moved.waiting]
            nodes = context.store.stats(paths, watch=True)
            moved.again |= not self.watches or any(node is None for node in nodes)
        self.channel.answer(context)
        missing = notes.missing_topics(
            self.options.topics.subscription, self.subscribed, self.snapshot.topics
        )
        self.emptiness.look(mine, missing, self.subscribed)
        return moved

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        """Look again if a part of the share is not held.

        An operator deletes an owner node or sets an offset: the commit is refused, the partition is
        dropped, and no watch fires, as only this member's commands are watched. The coordinator
        continues to count the partition as ours, so no other member would take it.
        """
        if self.orders.start is None:
            self.emptiness.untold()
        now = context.clock.monotonic()
        lacking = self.orders.share.keys() - context.holdings.held.keys() - set(waiting)
        if lacking and now >= self.agenda.not_before:
            self.agenda.stir("not all of the share is held")
            self.agenda.put_off(_AGAIN_S)

    def outlook(self, _plan: Plan | None) -> Outlook:
        if self.orders.start is None:
            return Outlook(False, _UNTOLD)
        if not self.target and self.subscribed():
            return Outlook(expected="all partitions belong to other members, perhaps dead ones")
        return Outlook()

    def subscribed(self) -> Collection[TopicPartition]:
        hidden = patterns.INTERNAL_TOPICS if self.options.topics.exclude_internal else ()
        return partitions_of(self.options.topics.subscription, self.snapshot.topics, hidden)

    def status(self) -> dict[str, Any]:
        start = self.orders.start
        return {"generation": str(start.generation) if start else None}


def _lives_of(context: MemberContext, topics: Collection[str]) -> dict[str, int]:
    """Return the transaction that created each topic, if brokers register in ZooKeeper: an older
    offset belongs to a former topic of the same name.
    """
    names = sorted(topics)
    nodes = context.store.nodes([topic_path(name) for name in names])
    return {t: n.node.czxid for t, n in zip(names, nodes, strict=True) if n is not None}
