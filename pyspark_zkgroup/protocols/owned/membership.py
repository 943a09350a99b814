"""A member that owns by nodes in ZooKeeper, whoever decides what shall be its own.

Runs in the planner's one thread, only when the planner asks. Order within a boundary: commit what
is done (held or not), register, look, release, claim; the proof is the planner's last call before
the plan. A session that ends on the way begins the boundary again; a connection that is gone ends
it, and what is held stands as long as the lease.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pyspark_zkgroup.errors import AccessError, FencedError, ServerError
from pyspark_zkgroup.group.ownership import fence_of
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.snapshot import Snapshot, topics_of
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned import claims, commits, replays
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import Holdings, MemberContext
from pyspark_zkgroup.protocols.owned.offset_watch import OffsetWatch
from pyspark_zkgroup.protocols.owned.registrations import (
    Joining,
    refuse_offsets_beyond_end,
    take_over_owners,
)
from pyspark_zkgroup.protocols.owned.requests import Requests
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka, Position, Standing
from pyspark_zkgroup.protocols.waiting import Waiting
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.ranges.positions import check_partitions
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

_ROUNDS_MAX = 4
# After a failed look (Kafka away, nodes changing faster than we read) the next one waits a little.
_LOOK_BACKOFF_S = 1.0
_MEND_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.group")


class OwnerNodeMembership:
    """All that is the same whoever decides. Below stand the questions that each protocol answers
    in its own way.
    """

    protocol = ""
    paths_of: type[GroupPaths] = GroupPaths
    strategy = ""
    told = False  # what to read, by somebody else, once it has joined
    looks_every_s = float("inf")  # at what watches tell of, where there are none

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        surroundings: Surroundings = REAL,
        in_kafka: OffsetsInKafka | None = None,
    ) -> None:
        self.options = options
        self.brokers = brokers
        self.clock = clock = surroundings.clock
        self.paths = self.paths_of(options.group_id)
        name = options.member_id or surroundings.new_name(clock)
        self.consumer = f"{options.group_id}_{name}"
        self.registration = Registration(
            options.subscription,
            "",
            strategy=self.strategy or options.strategy,
            order=options.order,
            static_id=options.member_id is not None,
        )
        self.reader = GroupReader(
            self.paths,
            options.subscription,
            options.exclude_internal_topics,
            brokers,
            bool(options.bootstrap_servers),
            options.security.protocol,
        )
        self.holdings = Holdings()
        self.losses = Losses(self.paths.offset, fail=options.fail_on_data_loss)
        self.copy = KafkaCopy(options, in_kafka, clock)
        self.first = FirstOffsets(options.starting_offsets, brokers, self.losses, self.copy)
        self.keeper = SessionKeeper(options, self.paths, self.consumer, self.holdings, surroundings)
        self.requests = Requests(self.keeper, self.copy)
        self.offset_watch = OffsetWatch(self.keeper, self.looks_every_s)
        self.waiting = Waiting(options.group_id, clock)
        self._plan: Plan | None = None
        self._new_query = True
        self._ever_joined = self._left = False
        self._look_not_before, self._refresh_at = 0.0, float("inf")
        self._snapshot = Snapshot({}, {})
        self._target: dict[TopicPartition, ThreadId] = {}
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
        self._plan = plan
        self.holdings.known.update(replays.finished(plan))
        self.holdings.remembered.update({r.partition: r.range.until for r in plan.ranges})

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        self._new_query = False
        self._plan = plan
        while True:
            self.holdings.known.clear()
            self.holdings.known.update(replays.fences(plan))
            try:
                context = self.keeper.stand()
                if self._joins_before_replay(context, plan):
                    self._join(context)
                # What a static member has taken over it may have to leave again at any moment.
                for partition in self.holdings.known.keys() - self.holdings.held.keys():
                    del self.holdings.known[partition]
                replays.note_empty_ranges(context, plan)
                return replays.replay_ranges(context, plan, self.keeper.wait)
            except SessionLostError:
                _log.warning(
                    "[ZKG-129] the session ended during the replay: all ranges are decided again"
                )
                self.keeper.lose()
            except (DisconnectedError, ServerError) as error:
                self.keeper.wait_out(error, _LOOK_BACKOFF_S)

    def _joins_before_replay(self, context: MemberContext, plan: Plan) -> bool:
        """Not where others took all of it: they would release now what we claim after the batch."""
        return context.static or not replays.all_taken(context, plan)

    def stirred(self) -> bool:
        session = self.keeper.session
        calm = self.keeper.joined or self.requests.at_rest
        alive = session is not None and session.alive and calm
        return self._must_look() or not alive or self.holdings.unsettled

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.holdings.finish(done)
        self.offset_watch.committed(done)
        for _ in range(_ROUNDS_MAX):
            try:
                self._step(self.keeper.stand())
                self.keeper.note_online()
                break
            except SessionLostError:
                self.keeper.lose()
            except DisconnectedError as error:
                self.keeper.note_offline(error)
                break
            except ServerError as error:
                # In a new query a wrong address is for the user to correct.
                if not self._ever_joined and self._new_query:
                    raise
                self._notes = (str(error),)
                self._look_not_before = self.clock.monotonic() + _LOOK_BACKOFF_S
                _log.warning("%s", error)
                break
        self.waiting.say(len(self.holdings.held))
        return self._standing()

    def prove(self) -> bool:
        context, session = self.keeper.context, self.keeper.session
        if context is None or session is None:
            return False
        try:
            if not session.connected:
                raise DisconnectedError("suspended")
            proved = claims.prove(context)
        except SessionLostError:
            self.keeper.lose()
            return False
        except DisconnectedError as error:
            self.keeper.note_offline(error)
            return self.keeper.may_plan
        if not proved:
            self.keeper.joined = False
            self.keeper.stir("the proof before the plan failed")
        return proved

    def touched(self) -> bool:
        return self.offset_watch.touched()

    def skip(self, found: Collection[Gap]) -> None:
        self.losses.skip(found, self.holdings.known)

    def give_up(self) -> int:
        return self.keeper.give_up()

    def subscribed(self) -> Collection[TopicPartition]:
        snapshot = self._snapshot
        topics = topics_of(self.options.subscription, snapshot.topics, self.reader.hidden)
        return [TopicPartition(t, n) for t, _ in topics for n in snapshot.topics.get(t, ())]

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
                commits.commit_finished(context)
                self.copy.write(context, has_lease=self.keeper.may_plan, last=True)
                context.callback.tell("release", self.holdings.held)
        except (SessionLostError, DisconnectedError, FencedError, AccessError) as error:
            _log.warning("[ZKG-127] leaving without a last commit: %s", error)
        finally:
            session.close()
            _log.info("left group %s as %s", self.options.group_id, self.consumer)

    def status(self) -> dict[str, Any]:
        return {
            "member": self.consumer,
            "members": len(self._snapshot.members),
            "held": len(self.holdings.held),
            "waiting": self.waiting.shown(),
            "waitingCount": len(self.waiting.reasons),
            "dropped": self.holdings.dropped,
            "dataLoss": {"events": self.losses.events, "records": self.losses.records},
            "notes": list(self._all_notes()),
        }

    # -- what each protocol answers for itself

    def _introduce(self, context: MemberContext) -> bool:
        """The first look of all, before anything is written: refuse to join where that must be, and
        set `_snapshot` to what there is to read. False where no broker is there to tell.
        """
        raise NotImplementedError

    def _look(self, context: MemberContext) -> bool:
        """Set `_target` to who shall read what, and `_snapshot` to what that was decided by. False
        where nothing is decided: what is held then stays held.
        """
        raise NotImplementedError

    def _move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        """Release and claim; `mine` is our part of the target, with the threads."""
        raise NotImplementedError

    def _conclude(self, context: MemberContext) -> None:
        """At the end of each boundary that ZooKeeper answered."""

    @property
    def _expected(self) -> str:
        """Why more may become ours before long."""
        raise NotImplementedError

    # -- one boundary

    def _step(self, context: MemberContext) -> None:
        if self.requests.rests(context, self._snapshot.members):
            self._refresh_at = float("inf")
            self._target = {}
            self.waiting.note({})
            return
        if context.static and self._plan is not None:
            # A predecessor's nodes are taken over under the plan's fences, which are the evidence;
            # settling first would move them.
            self._join(context)
        commits.commit_finished(context)
        self.copy.write(context, has_lease=self.keeper.may_plan)
        self._join(context)
        if self.holdings.doubtful:
            self.keeper.stir("a claim or its end was not answered")
        if self._must_look():
            self._rebalance(context)
            self.copy.write(context, has_lease=self.keeper.may_plan)
        self._conclude(context)

    def _must_look(self) -> bool:
        """Checked at every boundary: the planner asks a query with data in each trigger nothing."""
        now = self.clock.monotonic()
        if now >= self._refresh_at:
            self.keeper.stir("it was time for another look")
        return self.keeper.stirred() and now >= self._look_not_before

    def _join(self, context: MemberContext) -> None:
        if self.keeper.joined:
            return
        if not self._ever_joined:
            self._inspect(context)
        stamped = replace(self.registration, timestamp=str(int(self.clock.time() * 1000)))
        Joining(context, stamped, self._plan, self.keeper).run()
        if context.static and self._plan is not None:
            take_over_owners(context)
        self.keeper.joined = self._ever_joined = True
        self.keeper.stir("joined")

    def _register_again(self, context: MemberContext) -> None:
        """Whoever deleted our registration may have deleted everything, and others have rebuilt it
        since. What we hold is looked at first: commits rest on that order.
        """
        _log.warning("[ZKG-117] our registration was deleted by somebody else: registering again")
        commits.reconsider(context, list(self.holdings.held))
        self.keeper.joined = False
        self._join(context)

    def _inspect(self, context: MemberContext) -> None:
        """Everything that can refuse this member is asked before anything is written."""
        brokers_known = self._introduce(context)
        subscribed = self.subscribed()
        topics = frozenset(p.topic for p in subscribed)
        if self._new_query:
            self.first.fresh = topics
        # Even with nothing to read yet: brokers that cannot be reached are found now, not at the
        # first record.
        if brokers_known:
            self.brokers.partitions()
            self.copy.refuse_live_group()
            if self.options.fail_on_data_loss and not self.told:
                refuse_offsets_beyond_end(context, subscribed, self.brokers)
            if self._new_query:
                present = {t: self._snapshot.topics.get(t, ()) for t in topics}
                check_partitions(self.options.starting_offsets, present)
                self.first.check(context, present)

    def _rebalance(self, context: MemberContext) -> None:
        began = self.clock.monotonic()
        causes = self.keeper.take_causes()
        try:
            if not self._look(context):
                return
            mine = {p: t.number for p, t in self._target.items() if t.consumer == self.consumer}
            moved = self._move(context, mine)
        except BaseException:
            for cause in causes:
                self.keeper.stir(cause)
            raise
        self.waiting.note(moved.waiting)
        if moved.later:
            self._refresh_at = min(self._refresh_at, self.clock.monotonic() + _MEND_S)
        if moved.again:
            self._look_not_before = self.clock.monotonic() + _LOOK_BACKOFF_S
            self.keeper.stir("the last rebalance was not complete")
        if moved.claimed or moved.released or moved.lost:
            _log.info(
                "rebalanced group %s: %s, holding %d of %d; cause: %s; took %.0f ms",
                *(self.options.group_id, moved, len(self.holdings.held), len(self._target)),
                *(", ".join(causes), (self.clock.monotonic() - began) * 1000),
            )

    # -- what is said

    def _standing(self) -> Standing:
        if self.requests.request is not None:
            return Standing(notes=self._all_notes(), ended=self.requests.ended)
        may_plan = self.keeper.may_plan
        positions = {
            p: Position(known.done, held.thread, fence_of(known.fence, known.doubt))
            for p, held in self.holdings.held.items()
            if may_plan
            and p.topic not in self.first.made_anew
            and (known := self.holdings.known.get(p)) is not None
        }
        return Standing(
            positions,
            waiting=dict(self.waiting.reasons),
            notes=self._all_notes(),
            settled=may_plan
            and self.keeper.joined
            and not self.waiting.reasons
            and not self.keeper.stirred(),
            expected=self._expected,
        )

    def _all_notes(self) -> tuple[str, ...]:
        said = list(self._notes)
        if self.requests.request is not None:
            said.append(self.requests.note)
        said += self.keeper.notes
        if self.keeper.joined and not said:
            said += notes.missing_topics(self.options.subscription, self.subscribed, self._snapshot)
        return (*said, *notes.left_out(self._snapshot), *self.copy.notes)
