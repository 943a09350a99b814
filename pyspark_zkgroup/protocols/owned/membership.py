"""Owns partitions through ZooKeeper nodes, whichever part decides the assignment.

Runs in the planner's one thread, only when the planner calls. Order within a boundary: commit what
is done (held or not), register, look, release, claim. The proof is the planner's last call before
the plan. If the session ends on the way, the boundary starts again; if the connection breaks, it
ends, and what is held stays held as long as the lease.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import AccessError, AssignmentError, FencedError, ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned import replays
from pyspark_zkgroup.protocols.owned.agenda import LOOK_BACKOFF_S, Agenda
from pyspark_zkgroup.protocols.owned.decider import Decider, Outlook
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.joining import Joining
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.offset_watch import OffsetWatch
from pyspark_zkgroup.protocols.owned.rebalancing import rebalance
from pyspark_zkgroup.protocols.owned.requests import Requests
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.owned.tenure import Tenure
from pyspark_zkgroup.protocols.port import Standing
from pyspark_zkgroup.protocols.waiting import Waiting
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

_ROUNDS_MAX = 4
_UNCOMMITTED = (SessionLostError, DisconnectedError, AssignmentError, FencedError, AccessError)
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(eq=False, repr=False)
class OwnedMembership:
    """`requests` handles operators' requests to leave; `offset_watch` follows offsets that other
    clients set.
    """

    protocol: str
    keeper: SessionKeeper
    decider: Decider
    joining: Joining
    tenure: Tenure
    requests: Requests | None
    offset_watch: OffsetWatch | None
    more_status: Callable[[], dict[str, Any]]
    waiting: Waiting = field(init=False)
    _outlook: Outlook = field(default_factory=Outlook)
    _left: bool = False

    def __post_init__(self) -> None:
        self.waiting = Waiting(self.keeper.member.paths.group, self.keeper.member.clock)

    # -- the port

    @property
    def agenda(self) -> Agenda:
        return self.keeper.agenda

    @property
    def member(self) -> str:
        return self.keeper.member.consumer

    @property
    def holdings(self) -> Holdings:
        return self.keeper.member.holdings

    @property
    def losses(self) -> Losses:
        return self.joining.first.losses

    @property
    def unsettled(self) -> bool:
        return self.holdings.unsettled

    def resume(self, plan: Plan) -> None:
        self.joining.restart(plan)
        self.holdings.known.update(replays.finished(plan))
        self.holdings.remembered.update({r.partition: r.range.until for r in plan.ranges})

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        self.joining.restart(plan)
        while True:
            self.holdings.known.clear()
            self.holdings.known.update(replays.fences(plan))
            try:
                context = self.keeper.stand()
                if self.joining.entry.precedes_replay(context, plan):
                    self.joining.join(context)
                # What a static member has taken over may move away again at any moment.
                for partition in self.holdings.known.keys() - self.holdings.held.keys():
                    del self.holdings.known[partition]
                replays.note_empty_ranges(context, plan)
                return self.tenure.replay(context, plan, self.agenda.wait)
            except SessionLostError:
                _log.warning(catalogue.warning("ZKG-129"))
                self.keeper.lose()
            except (DisconnectedError, ServerError) as error:
                self.keeper.wait_out(error, LOOK_BACKOFF_S)

    def stirred(self) -> bool:
        session = self.keeper.session
        calm = self.agenda.joined or (self.requests is not None and self.requests.at_rest)
        alive = session is not None and session.alive and calm
        return self.agenda.is_due() or not alive or self.holdings.unsettled

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.holdings.finish(done)
        if self.offset_watch is not None:
            self.offset_watch.committed(done)
        for _ in range(_ROUNDS_MAX):
            try:
                self.step(self.keeper.stand())
                self.keeper.note_online()
                break
            except SessionLostError:
                self.keeper.lose()
            except DisconnectedError as error:
                self.keeper.note_offline(error)
                break
            except ServerError as error:
                # In a new query a wrong address is for the user to correct.
                if not self.joining.ever_joined and self.joining.new_query:
                    raise
                self.agenda.trouble = f"{error}"
                self.agenda.put_off(LOOK_BACKOFF_S)
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
            proved = self.tenure.prove(context)
        except SessionLostError:
            self.keeper.lose()
            return False
        except DisconnectedError as error:
            self.keeper.note_offline(error)
            return self._may_plan
        if not proved:
            self.agenda.joined = False
            self.agenda.stir("the proof before the plan failed")
        return proved

    def touched(self) -> bool:
        return self.offset_watch is not None and self.offset_watch.touched()

    def vouches(self) -> bool:
        # If losses are allowed, the fence under which the position is committed decides.
        return not self.losses.fail or (self.prove() and self.keeper.offline_since is None)

    def skip(self, found: Collection[Gap]) -> None:
        self.losses.skip(found, self.holdings.known)

    def give_up(self) -> int:
        return self.keeper.give_up() if self.tenure.owns else 0

    def subscribed(self) -> Collection[TopicPartition]:
        return self.decider.subscribed()

    def wait(self, timeout_s: float) -> None:
        self.agenda.wait(timeout_s)

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
                self.tenure.commit(context)
                self.joining.copy.write(context, has_lease=self.keeper.may_plan, last=True)
                context.callback.tell("release", self.holdings.held)
        except _UNCOMMITTED as error:
            _log.warning(catalogue.warning("ZKG-127", error=error))
        finally:
            session.close()
            _log.info("Left group %s as %s", context.paths.group, self.member)

    def status(self) -> dict[str, Any]:
        return {
            "member": self.member,
            "members": len(self.decider.snapshot.members),
            "held": len(self.holdings.held),
            "waiting": self.waiting.shown(),
            "waitingCount": len(self.waiting.reasons),
            "dropped": self.holdings.dropped,
            "dataLoss": {"events": self.losses.events, "records": self.losses.records},
            "notes": list(self._notes()),
            **self.more_status(),
        }

    # -- one boundary

    def step(self, context: MemberContext) -> None:
        members = self.decider.snapshot.members
        if self.requests is not None and self.requests.rests(context, members):
            self.agenda.refresh_at = float("inf")
            self.waiting.note({})
            return
        if context.static and self.joining.plan is not None:
            # A predecessor's nodes are taken over under the plan's fences, which are the evidence:
            # settling first would move them.
            self.joining.join(context)
        self.tenure.commit(context)
        self.joining.copy.write(context, has_lease=self.keeper.may_plan)
        self.joining.join(context)
        if self.holdings.doubtful:
            self.agenda.stir("a claim or its end was not answered")
        if self.agenda.is_due():
            rebalance(context, self.joining, self.waiting)
            self.joining.copy.write(context, has_lease=self.keeper.may_plan)
        self.decider.conclude(context, self.waiting.reasons)

    @property
    def _may_plan(self) -> bool:
        """Return whether the lease has not ended, whether the server answers or not."""
        return self.keeper.may_plan and (self.tenure.owns or self.keeper.offline_since is None)

    def _standing(self) -> Standing:
        outlook = self._outlook = self.decider.outlook(self.joining.plan)
        if self.requests is not None and self.requests.request is not None:
            return Standing(notes=self._notes(), ended=self.requests.ended)
        may_plan = self._may_plan
        made_anew = self.joining.first.made_anew
        return Standing(
            self.holdings.positions(made_anew) if may_plan else {},
            [p for p in self.holdings.held if p.topic in made_anew],
            waiting=dict(self.waiting.reasons),
            notes=self._notes(),
            settled=may_plan
            and self.agenda.joined
            and not self.waiting.reasons
            and not self.agenda.stirred()
            and outlook.settled,
            expected=outlook.expected,
        )

    def _notes(self) -> tuple[str, ...]:
        said = [self.agenda.trouble] if self.agenda.trouble else list(self.decider.notes)
        if self.requests is not None and self.requests.request is not None:
            said.append(self.requests.note)
        said += self.keeper.notes
        if self.agenda.joined and not said:
            subscription = self.joining.options.topics.subscription
            there = self.decider.snapshot.topics
            said += notes.missing_topics(subscription, self.subscribed, there)
        left_out = notes.left_out(self.decider.snapshot)
        return (*said, *left_out, *self.joining.copy.notes, *self._outlook.remarks)
