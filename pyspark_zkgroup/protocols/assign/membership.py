"""The option `assign`: named partitions, read and committed without joining the group.

It registers nothing and owns nothing, so nobody shares with it and nobody takes over from it. What
keeps it from reading beside others is proved at each boundary: the group has no members, nobody
owns the partitions, and no fence has moved. Where that does not hold the query ends with an error:
there is no telling whether somebody else reads them now, or has set the offset by hand.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark_zkgroup.errors import AssignmentError, FencedError, ServerError, SubscriptionError
from pyspark_zkgroup.group.claim import claim_start
from pyspark_zkgroup.group.ops import Done, InDoubt
from pyspark_zkgroup.group.ownership import OffsetRead, fence_of
from pyspark_zkgroup.group.paths import GroupPaths, coordinated_ids
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.assign import commits as unowned
from pyspark_zkgroup.protocols.assign.rules.unowned import prove
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned import claims, replays
from pyspark_zkgroup.protocols.owned.commits import read_offsets
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import Holdings, MemberContext
from pyspark_zkgroup.protocols.owned.registrations import refuse_offsets_beyond_end
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka, Position, Standing
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.ranges.positions import check_partitions
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

_ROUNDS_MAX = 4
_LOOK_AGAIN_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.group")


class AssignedMembership:
    protocol = "assign"

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        surroundings: Surroundings = REAL,
        in_kafka: OffsetsInKafka | None = None,
    ) -> None:
        self.options = options
        self.brokers = brokers
        self.clock = surroundings.clock
        self.paths = GroupPaths(options.group_id)
        name = options.member_id or surroundings.new_name(self.clock)
        self.consumer = f"{options.group_id}_{name}"
        self.holdings = Holdings()
        self.losses = Losses(self.paths.offset, fail=options.fail_on_data_loss)
        self.copy = KafkaCopy(options, in_kafka, self.clock)
        self.first = FirstOffsets(options.starting_offsets, brokers, self.losses, self.copy)
        self.keeper = SessionKeeper(options, self.paths, self.consumer, self.holdings, surroundings)
        self.reader = GroupReader(
            self.paths,
            options.subscription,
            options.exclude_internal_topics,
            brokers,
            bool(options.bootstrap_servers),
            options.security.protocol,
        )
        self._numbers = dict(zip(options.assigned, self._threads(), strict=True))
        self._new_query = True
        self._left = False
        self._look_not_before = 0.0
        self._waiting: dict[TopicPartition, str] = {}
        self._notes: tuple[str, ...] = ()

    # -- the port

    @property
    def member(self) -> str:
        return self.consumer

    @property
    def unsettled(self) -> bool:
        return self.holdings.unsettled

    def resume(self, plan: Plan) -> None:
        self._new_query = False
        self.holdings.known.update(replays.finished(plan))

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        self._new_query = False
        while True:
            self.holdings.known.clear()
            try:
                context = self.keeper.stand()
                self._refuse_members(context)
                replays.note_empty_ranges(context, plan)
                return unowned.replay(context, self._numbers, plan, self._refuse_members)
            except SessionLostError:
                self.keeper.lose()
            except DisconnectedError as error:
                self.keeper.note_offline(error)
                self.keeper.wait(_LOOK_AGAIN_S)

    def stirred(self) -> bool:
        session = self.keeper.session
        alive = session is not None and session.alive
        return self.keeper.stirred() or not alive or self.holdings.unsettled or self._due

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.holdings.finish(done)
        for _ in range(_ROUNDS_MAX):
            try:
                self._step(self.keeper.stand())
                self.keeper.note_online()
                return self._standing()
            except SessionLostError:
                self.keeper.lose()
            except DisconnectedError as error:
                self.keeper.note_offline(error)
                break
        # Nothing is owned, so no lease holds: without proof nothing is planned.
        return Standing(settled=False, notes=self._notes)

    def prove(self) -> bool:
        context = self.keeper.context
        if context is None:
            return False
        known = self.holdings.known
        partitions = sorted(self.holdings.held)
        try:
            outcomes = context.store.commit(
                [prove(self.paths, p, context.thread(0), known[p]) for p in partitions]
            )
            offsets = read_offsets(context, partitions)
            self._refuse_members(context)
        except SessionLostError:
            self.keeper.lose()
            return False
        except DisconnectedError as error:
            self.keeper.note_offline(error)
            return False
        if any(isinstance(outcome, InDoubt) for outcome in outcomes):
            return False
        self._end_if(
            context,
            [
                p
                for p, outcome in zip(partitions, outcomes, strict=True)
                # A node that was made anew may have come back to the version that we know.
                if not isinstance(outcome, Done)
                or p not in offsets
                or offsets[p].node != known[p].fence
            ],
        )
        return True

    def touched(self) -> bool:
        return False  # whoever sets an offset beside us ends this query at its next proof

    def skip(self, found: Collection[Gap]) -> None:
        self.losses.skip(found, self.holdings.known)

    def give_up(self) -> int:
        """Nobody waits for what is not owned."""
        return 0

    def subscribed(self) -> Collection[TopicPartition]:
        return self.options.assigned

    def wait(self, timeout_s: float) -> None:
        self.keeper.wait(timeout_s)

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        if self._left:
            return
        self._left = True
        self.holdings.finish(done)
        context, session = self.keeper.context, self.keeper.session
        if context is None or session is None:
            return
        try:
            if session.connected:
                self._end_if(context, unowned.commit(context))
                self.copy.write(context, has_lease=True, last=True)
        except (SessionLostError, DisconnectedError, AssignmentError, FencedError) as error:
            _log.warning("[ZKG-128] ending without a last commit: %s", error)
        finally:
            session.close()

    def status(self) -> dict[str, Any]:
        return {
            "member": self.consumer,
            "members": 0,
            "held": len(self.holdings.held),
            "waiting": {str(p): reason for p, reason in sorted(self._waiting.items())},
            "waitingCount": len(self._waiting),
            "dropped": self.holdings.dropped,
            "dataLoss": {"events": self.losses.events, "records": self.losses.records},
            "notes": list(self._notes),
        }

    # -- one boundary

    def _step(self, context: MemberContext) -> None:
        self._end_if(context, unowned.commit(context))
        if self.keeper.stirred() or self._due:
            self.keeper.take_causes()
            self._look_not_before = self.clock.monotonic() + _LOOK_AGAIN_S
            topics = self._look(context)
            self._take(context, topics)
        self.copy.write(context, has_lease=True)

    def _look(self, context: MemberContext) -> dict[str, tuple[int, ...]]:
        view = self.reader.look(context.store, self.keeper.changed_meanwhile)
        self._refuse_members(context)
        self._notes = view.notes
        topics = {
            topic: tuple(n for n in numbers if TopicPartition(topic, n) in self._numbers)
            for topic, numbers in view.snapshot.topics.items()
        }
        absent = [p for p in self.options.assigned if p.partition not in topics.get(p.topic, ())]
        if view.topics_from and absent and self._new_query:
            raise SubscriptionError(
                f"Option 'assign' names {', '.join(map(str, absent[:10]))}, which the cluster does "
                "not have",
                "Name partitions that exist",
            )
        if view.topics_from and self._new_query:
            check_partitions(self.options.starting_offsets, topics)
            self.first.fresh = frozenset(topics)
            self.copy.refuse_live_group()
            if self.options.fail_on_data_loss:
                refuse_offsets_beyond_end(context, self.options.assigned, self.brokers)
            self._new_query = False
        self.first.see(topics, view.lives)
        return topics

    def _take(self, context: MemberContext, topics: Mapping[str, Sequence[int]]) -> None:
        held = self.holdings.held
        self._waiting.clear()
        claims.begin_anew(context, self.first, self._waiting)
        pending = [p for p in self.options.assigned if p not in held]
        for p in [p for p in pending if p.partition not in topics.get(p.topic, ())]:
            self._waiting[p] = "the cluster does not have it"
            pending.remove(p)
        if not pending:
            return
        unowned.ensure(context, pending)
        try:
            offsets = self.first.read(context, pending, self._waiting)
            starts = self._starts(context, offsets)
        except ServerError as error:
            self._waiting.update((p, str(error)) for p in pending)
            return
        for partition in unowned.take(context, self._numbers, starts, offsets):
            self._waiting[partition] = "its offset node has just been changed"

    def _starts(
        self, context: MemberContext, offsets: Mapping[TopicPartition, OffsetRead]
    ) -> dict[TopicPartition, int]:
        starts: dict[TopicPartition, int] = {}
        for partition, offset in offsets.items():
            start = claim_start(self.holdings.known.get(partition), offset)
            if start is not None:
                starts[partition] = start
            else:
                path = self.paths.offset(partition)
                self._waiting[partition] = f"{path} holds {offset.raw!r}, which is no offset"
        older = {p: s for p, s in starts.items() if self.first.is_of_another_life(p, offsets[p])}
        if older:
            starts.update(self.first.begin_anew(context, older, self._waiting))
        return starts

    @property
    def _due(self) -> bool:
        """What is not to be had now is looked for again, but not at every call."""
        return self._incomplete and self.clock.monotonic() >= self._look_not_before

    @property
    def _incomplete(self) -> bool:
        return len(self.holdings.held) < len(self.options.assigned)

    # -- who else is there

    def _refuse_members(self, context: MemberContext) -> None:
        both = [self.paths.ids, coordinated_ids(self.options.group_id)]
        listed = context.store.children(both, watch=True)
        members = sorted(name for found in listed if found for name in found.names)
        if members:
            raise AssignmentError(
                f"Group {self.options.group_id!r} has the live members {', '.join(members[:5])}, "
                "and 'assign' reads its partitions without joining it",
                "Stop them first, or read with 'subscribe', or under a group.id of its own",
            )

    def _end_if(self, context: MemberContext, refused: Sequence[TopicPartition]) -> None:
        """By a transaction: somebody owns these partitions, or has moved their fences."""
        if not refused:
            return
        self._refuse_members(context)
        paths = ", ".join(self.paths.offset(p) for p in refused[:5])
        raise FencedError(
            f"Offsets that this query reads by 'assign' were changed by somebody else: {paths}",
            "Another query reads the same partitions, or the offsets were set by hand. This query "
            "ends and overwrites nothing; started again, it goes on from the group's offsets",
        )

    def _standing(self) -> Standing:
        return Standing(
            {
                p: Position(known.done, held.thread, fence_of(known.fence))
                for p, held in self.holdings.held.items()
                if p.topic not in self.first.made_anew
                and (known := self.holdings.known.get(p)) is not None
            },
            waiting=dict(self._waiting),
            notes=self._notes,
            settled=not self._incomplete,
        )

    def _threads(self) -> list[int]:
        """Each topic's partitions in turn, as many threads as it was given."""
        threads = dict(self.options.subscription.entries)
        at: dict[str, int] = {}
        numbers: list[int] = []
        for partition in self.options.assigned:
            number = at.get(partition.topic, 0)
            numbers.append(number % threads[partition.topic])
            at[partition.topic] = number + 1
        return numbers
