"""The `coordinator` protocol: an elected coordinator decides, and tells each member by commands.

Owner nodes, offsets and fences are those of the `zookeeper` protocol; what differs is where a
member registers, and that it reads nothing of the other members: its target is what it was told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.paths import CoordinatedPaths, topic_path
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.coordinator.command_channel import CommandChannel
from pyspark_zkgroup.protocols.coordinator.rules.sticky import STICKY
from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.owned import claims, commits
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.membership import OwnerNodeMembership
from pyspark_zkgroup.protocols.owned.registrations import refuse_offsets_beyond_end
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka, Standing

_AGAIN_S = 1.0
_UNTOLD = "no coordinator has told this member yet what to read"


class CoordinatorMembership(OwnerNodeMembership):
    protocol = "coordinator"
    paths_of = CoordinatedPaths
    strategy = STICKY
    told = True

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        surroundings: Surroundings = REAL,
        in_kafka: OffsetsInKafka | None = None,
    ) -> None:
        super().__init__(options, brokers, surroundings, in_kafka)
        self.coordinated = CoordinatedPaths(options.group_id)
        self.channel = CommandChannel(self.coordinated)
        self.emptiness = Emptiness(options.group_id, self.clock)
        self._share_examined = False
        self.registration = replace(
            self.registration, order="", internal=not options.exclude_internal_topics
        )

    def status(self) -> dict[str, Any]:
        told = self.channel.start
        return {**super().status(), "generation": str(told.generation) if told else None}

    # -- what this protocol answers for itself

    def _introduce(self, context: MemberContext) -> bool:
        self._refuse_others(context)
        found = self.reader.topics.read(context.store, [self.options.subscription])
        self._snapshot = Snapshot({}, found.partitions)
        self._notes = (found.note,) if found.note else ()
        return bool(found.source)

    def _refuse_others(self, context: MemberContext) -> None:
        (others,) = context.store.children([self.coordinated.other_ids])
        if others is not None and others.names:
            named = ", ".join(sorted(others.names)[:5])
            raise AssignmentError(
                f"Group {self.options.group_id} has live members that decide for themselves "
                f"({named}): a coordinator could not tell them anything",
                "Stop them first, or set protocol to zookeeper, or give another group.id",
            )

    def _join(self, context: MemberContext) -> None:
        if self.keeper.joined:
            return
        first = not self._ever_joined
        self.channel.prepare(context)
        super()._join(context)
        if first:
            # Two that join in the same moment, one here and one there, have both looked before
            # either was to be seen.
            self._refuse_others(context)
        self.channel.begin(context)

    def _look(self, context: MemberContext) -> bool:
        before = self.channel.start
        if not self.channel.listen(context):
            self.keeper.stir("the command channel was removed")
        if not self.channel.echo and not self._is_registered(context):
            return False
        self.channel.obey(context)
        start = self.channel.start
        if start is None:
            # What was taken over or is replayed stays held until we are told otherwise.
            self._notes = (_UNTOLD,)
            self.channel.answer(context)
            return False
        self._notes = ()
        self._examine_share(context, start.share)
        self._snapshot = Snapshot({}, start.topics)
        lives: Mapping[str, int] = {}
        if start is not before:
            lives = self._lives_of(context, {p.topic for p in start.share})
        self.first.see(start.topics, lives)
        self._target = {p: ThreadId(self.consumer, n) for p, n in self.channel.share.items()}
        return True

    def _examine_share(self, context: MemberContext, share: Collection[TopicPartition]) -> None:
        """Once, before anything is claimed. What others read, in a large group nearly all there is,
        is theirs to judge.
        """
        if self._share_examined or not share:
            return
        if self.options.fail_on_data_loss:
            refuse_offsets_beyond_end(context, share, self.brokers)
        self._share_examined = True

    def _is_registered(self, context: MemberContext) -> bool:
        path = self.paths.id(self.consumer)
        (node,) = context.store.stats([path])
        if node is None:
            self._register_again(context)
            return False
        if node.ephemeral_owner != context.session:
            raise commits.fenced(context, f"{path} is in the hands of another session")
        # What was to be asked right after the registration may not have been answered.
        self.channel.live(node.node.czxid)
        return True

    def _lives_of(self, context: MemberContext, topics: Collection[str]) -> dict[str, int]:
        """The transaction that made each topic, where brokers register in ZooKeeper: an offset that
        is older counts the records of another topic of that name.
        """
        names = sorted(topics)
        nodes = context.store.nodes([topic_path(name) for name in names])
        return {t: n.node.czxid for t, n in zip(names, nodes, strict=True) if n is not None}

    def _move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        held = set(self.holdings.held)
        # That a node of ours was deleted by somebody shows at the proof; that one is another's
        # shows at the claim.
        moved = claims.rebalance(context, mine, (), self.first, (), owned=held)
        if moved.waiting:
            nodes = context.store.stats([self.paths.owner(p) for p in moved.waiting], watch=True)
            moved.again |= any(node is None for node in nodes)
        self.channel.answer(context)
        missing = notes.missing_topics(self.options.subscription, self.subscribed, self._snapshot)
        self.emptiness.look(mine, missing, self.subscribed)
        return moved

    def _conclude(self, context: MemberContext) -> None:
        """An owner node that somebody deletes, or an offset that is set by hand: the commit is
        refused, the partition dropped, and no watch tells, as only this member's commands are
        watched. The coordinator goes on to count it as ours, so nobody else would take it up.
        """
        if self.channel.start is None:
            self.emptiness.untold()
        now = self.clock.monotonic()
        lacking = (
            self.channel.share.keys() - self.holdings.held.keys() - self.waiting.reasons.keys()
        )
        if lacking and now >= self._look_not_before:
            self.keeper.stir("not all of the share is held")
            self._look_not_before = now + _AGAIN_S

    @property
    def _expected(self) -> str:
        if self.channel.start is None:
            return _UNTOLD
        if not self._target and self.subscribed():
            return "all partitions belong to other members, perhaps dead ones"
        return ""

    def _standing(self) -> Standing:
        standing = super()._standing()
        return replace(standing, settled=standing.settled and self.channel.start is not None)
