"""The `kafka` protocol: the broker's group coordinator says who is a member, and a leader among the
members who reads what.

Runs in the planner's one thread, only when the planner asks; the keeper's thread holds the
membership meanwhile. The parts are made here; rounds.py has the order of a boundary. A heartbeat is
the last request before a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.kafka.adoption import KafkaAdoption
from pyspark_zkgroup.protocols.kafka.asked import Asked
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.departure import KafkaDeparture
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings, Tokens
from pyspark_zkgroup.protocols.kafka.joining import KafkaJoining
from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.lease import KafkaLease
from pyspark_zkgroup.protocols.kafka.replay import KafkaReplay
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rounds import KafkaRounds
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupProgress
from pyspark_zkgroup.protocols.kafka.topics import KafkaTopics
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.port import Brokers, Position, Standing
from pyspark_zkgroup.protocols.waiting import Waiting
from pyspark_zkgroup.ranges.gaps import Gap

_JOIN_WAIT_S = 2.0


class KafkaMembership:
    protocol = "kafka"

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        connect: Callable[[], GroupCoordinator],
        settings: KafkaGroupSettings,
        environment: Environment = REAL,
    ) -> None:
        """`connect` makes a new connection each time: two threads ask the coordinator."""
        group = options.group
        clock = environment.clock
        session_s = settings.session_timeout_ms / 1000.0
        wait_s = group.rebalance_wait_ms / 1000.0
        name = environment.new_name(clock)
        self.member = f"{group.id}_{group.member_id or name}"
        self.kept = KeptMember(group.id, group.member_id, session_s, environment)
        self.holdings = KafkaHoldings()
        self.topics = KafkaTopics(options, brokers, clock)
        self.losses = Losses(
            lambda p: f"the offset of {p} in group {group.id!r}",
            fail=options.fetch.fail_on_data_loss,
        )
        self.waiting = Waiting(group.id, clock)
        requests = GroupRequests(self.kept, connect)
        # The name ends in what makes it unique; the host before it may be longer than a token.
        tokens = Tokens("-".join(name.split("-")[-2:]))
        claims = KafkaClaims(
            *(self.holdings, requests, brokers, options.starting, tokens),
            may_lose=not options.fetch.fail_on_data_loss,
        )
        keeper = GroupKeeper(
            self.kept, settings, group.max_poll_interval_ms, connect, environment.threads
        )
        self.lease = KafkaLease(self.holdings, requests)
        # A job that ends by itself waits longer for a join, in many boundaries.
        self.rounds = KafkaRounds(
            self.lease,
            KafkaJoining(keeper, self.holdings, self.topics, min(_JOIN_WAIT_S, wait_s)),
            KafkaAdoption(claims, self.topics, patience_s=session_s),
        )
        self.departure = KafkaDeparture(
            keeper, claims, self.member, is_static=group.member_id is not None
        )
        self.asked = Asked(self.kept, requests.connected)
        self._replay_patience_s = session_s + wait_s

    @property
    def unsettled(self) -> bool:
        return self.holdings.unsettled

    def resume(self, plan: Plan) -> None:
        self.rounds.is_new_query = False
        self.holdings.known.update(
            {
                r.partition: GroupProgress.planned(r.fence, r.range.start, r.range.until)
                for r in plan.ranges
            }
        )

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        self.rounds.is_new_query = False
        return KafkaReplay(self.rounds, plan, self._replay_patience_s).run()

    def stirred(self) -> bool:
        return self.asked.is_due() or (not self._is_outside and self.rounds.is_due())

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.holdings.finish(done)
        self.asked.look(self.topics.noted(self.kept.joined_topics))
        if self.asked.request is None:
            self.rounds.run()
        else:
            self.rounds.step_out(self.departure)
        self.waiting.note(self.holdings.waiting)
        self.waiting.say(len(self.holdings.held))
        return self._standing()

    def prove(self) -> bool:
        return self.lease.prove()

    def touched(self) -> bool:
        return False  # the brokers refuse who is no member

    def vouches(self) -> bool:
        return not self.losses.fail or self.prove()

    def skip(self, found: Collection[Gap]) -> None:
        self.losses.skip(found, self.holdings.known)

    def give_up(self) -> int:
        held = len(self.holdings.held)
        self.kept.give_up("the driver has not called for longer than max.poll.interval.ms")
        return held

    def subscribed(self) -> Collection[TopicPartition]:
        return self.topics.subscribed()

    def wait(self, timeout_s: float) -> None:
        self.kept.await_change(self.kept.member, timeout_s)

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        if not self.departure.has_begun:
            self.holdings.finish(done)
            self.departure.leave()

    def status(self) -> dict[str, Any]:
        member = self.kept.member
        return {
            "member": self.member,
            "members": self.kept.led.members,
            "memberId": member.id,
            "state": member.phase.upper(),
            "generation": member.generation,
            "held": len(self.holdings.held),
            "waiting": self.waiting.shown(),
            "waitingCount": len(self.waiting.reasons),
            "dropped": self.holdings.dropped,
            "dataLoss": {"events": self.losses.events, "records": self.losses.records},
            "notes": list(self._notes()),
        }

    def _standing(self) -> Standing:
        member = self.kept.member
        request = self.asked.request
        if request is not None:
            ended = request.by if request.kind == "stop" and self._is_outside else ""
            return Standing(notes=self._notes(), ended=ended)
        may_plan = self.lease.is_valid
        known = self.holdings.known
        positions = {
            p: Position(known[p].done, self.topics.thread(p), known[p].current)
            for p in (self.holdings.held if may_plan else ())
        }
        adopted = self.rounds.adoption.is_complete(member)
        expected = "" if adopted and not member.needs_join else "the group is being assigned"
        return Standing(
            positions,
            waiting=dict(self.holdings.waiting),
            notes=self._notes(),
            settled=may_plan and not expected,
            expected=expected,
        )

    @property
    def _is_outside(self) -> bool:
        """On request; the process lives on, and looks whether the request was withdrawn."""
        return self.asked.request is not None and self.kept.member.phase == "unjoined"

    def _notes(self) -> tuple[str, ...]:
        if self.asked.request is not None:
            state = "outside of the group" if self._is_outside else "leaving the group"
            return (f"{state}: {self.asked.request}",)
        said = list(self.rounds.notes)
        if self.kept.member.phase == "rebalancing":
            said.append("the group is rebalancing")
        silence = self.lease.silence()
        if silence and self.rounds.adoption.has_begun:
            said.append(silence)
        return tuple(said)
