"""The `kafka` protocol: the broker's group coordinator says who is a member, and a leader among the
members who reads what.

Runs in the planner's one thread, only when the planner asks; the keeper's thread holds the
membership meanwhile. Order within a boundary: commit what is done, join if need be, give back what
must move, claim what is ours; a heartbeat is the last request before a plan. docs/protocol-kafka.md
has the rules, and what goes wrong without them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings, Tokens
from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.refusals import refused
from pyspark_zkgroup.protocols.kafka.replay import KafkaReplay
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupProgress
from pyspark_zkgroup.protocols.kafka.rules.member import Member
from pyspark_zkgroup.protocols.kafka.topics import KafkaTopics
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.port import Brokers, Position, Standing
from pyspark_zkgroup.protocols.waiting import Waiting
from pyspark_zkgroup.ranges.gaps import Gap

_REPEATED_S = 30.0
_ROUNDS_MAX = 4
_JOIN_WAIT_S = 2.0
_COMMIT_AGAIN_S = 0.1
# What was not complete is tried again after so long, not at each of Spark's idle triggers.
_AGAIN_S = 0.5
_log = logging.getLogger("pyspark_zkgroup.group")


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
        self.options = options
        self.brokers = brokers
        self.settings = settings
        self.clock = clock = environment.clock
        name = environment.new_name(clock)
        self.consumer = f"{options.group.id}_{options.group.member_id or name}"
        self.holdings = KafkaHoldings()
        place = f"in group {options.group.id!r}"
        self.losses = Losses(
            lambda p: f"the offset of {p} {place}", fail=options.fetch.fail_on_data_loss
        )
        group = options.group
        self.kept = KeptMember(group.id, group.member_id, settings.session_timeout_ms, environment)
        self.keeper = GroupKeeper(
            self.kept, settings, group.max_poll_interval_ms, connect, environment.threads
        )
        self.requests = GroupRequests(self.kept, connect)
        # The name ends in what makes it unique; the host before it may be longer than a token.
        tokens = Tokens("-".join(name.split("-")[-2:]))
        self.claims = KafkaClaims(
            *(self.holdings, self.requests, brokers, options.starting, tokens),
            may_lose=not options.fetch.fail_on_data_loss,
        )
        self.waiting = Waiting(options.group.id, clock)
        self.emptiness = Emptiness(options.group.id, clock)
        self.topics = KafkaTopics(options, brokers, clock)
        self._again_at = self._join_until = float("-inf")
        self._adopted = (-1, -1)
        self._incomplete_since = float("inf")
        self._new_query = True
        self._ever_joined = self._left = False
        self._notes: tuple[str, ...] = ()
        self._told_at = 0.0

    # -- the port

    @property
    def member(self) -> str:
        return self.consumer

    @property
    def unsettled(self) -> bool:
        return self.holdings.unsettled

    def resume(self, plan: Plan) -> None:
        self._new_query = False
        self.holdings.known.update(
            {
                r.partition: GroupProgress.planned(r.fence, r.range.start, r.range.until)
                for r in plan.ranges
            }
        )

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        self._new_query = False
        return KafkaReplay(self, plan).run()

    def stirred(self) -> bool:
        member, now = self.kept.member, self.clock.monotonic()
        if member.fatal or member.life != self.holdings.life or member.needs_join:
            return True
        if self.topics.is_due(self.claims.unknown_to_brokers):
            return True
        if member.phase == "stable" and self._adopted != (member.life, member.generation):
            return now >= self._again_at
        return self.unsettled and now >= self._again_at

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self._finish(done)
        wait_until = self.clock.monotonic() + self._join_wait_s
        try:
            self.refresh_topics()
            for _ in range(_ROUNDS_MAX):
                if self.step(wait_until):
                    break
            self._notes = ()
        except ServerError as error:
            # In a new query a wrong address is the user's to correct; else it is the network.
            is_first = self._new_query and not self._ever_joined
            if is_first or self.kept.member.fatal:
                raise
            now = self.clock.monotonic()
            if not self._notes or now - self._told_at >= _REPEATED_S:
                self._told_at = now
                _log.warning("%s", error)
            self._notes = (f"{error}",)
        self.waiting.note(self.holdings.waiting)
        self.waiting.say(len(self.holdings.held))
        return self._standing()

    def prove(self) -> bool:
        member = self.kept.member
        if member.life != self.holdings.life or not member.may_commit:
            return False
        meaning = codes.meaning_of("heartbeat", self.requests.heartbeat(member))
        if meaning is Meaning.OLD_GENERATION and self.kept.member.life == member.life:
            # The next generation has begun while we join, and our join lists what we hold. But was
            # it lost, a static member is passed over, and others are given what it holds.
            return self._has_lease()
        if meaning in (Meaning.DONE, Meaning.REBALANCE):
            return self.kept.member.life == member.life
        self._check(self.kept.member)
        return self._has_lease()

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
        return [
            TopicPartition(t, n) for t in self.topics.own() for n in self.topics.numbers.get(t, ())
        ]

    def wait(self, timeout_s: float) -> None:
        self.kept.await_change(self.kept.member, timeout_s)

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        """A static member does not leave: its share waits for it, for a session timeout."""
        if self._left:
            return
        self._left = True
        self._finish(done)
        try:
            if not self._commit_last():
                _log.warning(catalogue.warning("ZKG-127", error=self.requests.trouble))
        finally:
            self.requests.close()
            self.keeper.close(leave=self.options.group.member_id is None)
            _log.info("Left group %s as %s", self.options.group.id, self.consumer)

    def status(self) -> dict[str, Any]:
        member = self.kept.member
        return {
            "member": self.consumer,
            "members": self.kept.led.members,
            "memberId": member.id,
            "state": member.phase.upper(),
            "generation": member.generation,
            "held": len(self.holdings.held),
            "waiting": self.waiting.shown(),
            "waitingCount": len(self.waiting.reasons),
            "dropped": self.holdings.dropped,
            "dataLoss": {"events": self.losses.events, "records": self.losses.records},
            "notes": list(self._all_notes()),
        }

    # -- one boundary

    def step(self, wait_until: float) -> bool:
        """One round: whether there is nothing left to do at this boundary."""
        member = self.kept.member
        self._check(member)
        committed = self.claims.commit_finished(member)
        self._notice_topics(member)
        member = self.kept.member
        if member.life != self.holdings.life:
            # The answer to the commit said so. A join from here would list what we have just lost,
            # and its leader wait for us to give it back.
            return False
        if member.needs_join:
            if self.claims.is_put_off and not self.settings.is_cooperative:
                return False
            self._begin_join(member)
        if self.kept.member.phase == "rebalancing":
            self._await_join(wait_until)
        self._renew_lease()
        member = self.kept.member
        if member.life != self.holdings.life or member.needs_join:
            return False
        adopted = self._adopted == (member.life, member.generation)
        if member.phase != "stable" or (adopted and member.assigned <= self.holdings.held):
            if not committed:
                self._again_at = self.clock.monotonic() + _AGAIN_S
            return True
        return self._adopt(member)

    def rejoin(self) -> Member:
        """For a replay: join whatever rebalance there is, and look a little later."""
        member = self.kept.member
        self._check(member)
        if member.needs_join:
            self._begin_join(member)
        return self.kept.member

    @property
    def _join_wait_s(self) -> float:
        """How long a boundary waits for a join. A job that ends by itself waits longer, in many."""
        return min(_JOIN_WAIT_S, self.options.group.rebalance_wait_ms / 1000.0)

    def _finish(self, done: Mapping[TopicPartition, int]) -> None:
        known = self.holdings.known
        for partition, until in done.items():
            at = known.get(partition)
            if at is not None and until > at.done:
                known[partition] = replace(at, done=until)

    def _commit_last(self) -> bool:
        """While the group is given its assignment commits are refused for a moment."""
        until = self.clock.monotonic() + _JOIN_WAIT_S
        while True:
            member = self.kept.member
            lost = member.life != self.holdings.life or bool(member.fatal)
            if lost or self.claims.commit_finished(member):
                return not self.holdings.unsettled
            if self.clock.monotonic() >= until:
                return False
            self.kept.await_change(member, _COMMIT_AGAIN_S)

    def _check(self, member: Member) -> None:
        if member.fatal:
            raise refused(member, self.options.group.id)
        if member.life != self.holdings.life:
            self.holdings.lose(member.life)

    def refresh_topics(self) -> None:
        doubted = self.claims.unknown_to_brokers
        if not self.topics.is_due(doubted):
            return
        gone = self.topics.look(doubted)
        if gone:
            self.claims.give_up_on(gone)
        if not self._ever_joined and self._new_query:
            self.claims.fresh = self.topics.check_start()

    def _notice_topics(self, member: Member) -> None:
        """The leader assigns what it knows of: it looks after the topics of all members."""
        if tuple(self.topics.own()) != self.kept.joined_topics:
            self.kept.ask_to_join("the topics that match the subscription have changed")
        led = self.kept.led.topics
        if (
            member.leads
            and led is not None
            and any(self.topics.numbers.get(t, ()) != numbers for t, numbers in led.items())
        ):
            self.kept.ask_to_join("partitions have appeared or gone")

    def _begin_join(self, member: Member) -> None:
        """What is not settled by now stays known, and settles what comes back untouched."""
        if not self.settings.is_cooperative:
            for partition in list(self.holdings.held):
                self.holdings.give_back(partition)
        if self.keeper.begin_join(member, frozenset(self.holdings.held), self.topics.own()):
            self._join_until = self.clock.monotonic() + self._join_wait_s

    def _await_join(self, wait_until: float) -> None:
        """The same join is waited for once; then boundaries continue with what is held."""
        until = min(wait_until, self._join_until)
        while (member := self.kept.member).phase == "rebalancing" and not member.fatal:
            left_s = until - self.clock.monotonic()
            if left_s <= 0:
                return
            self.kept.await_change(member, left_s)

    def _renew_lease(self) -> None:
        """While a join or a sync is pending no heartbeats are sent: a boundary with nothing to
        commit would find the lease run out, and one whose join was lost, nothing for minutes.
        """
        member = self.kept.member
        if member.may_commit and not self._has_lease():
            self.requests.heartbeat(member)

    def _adopt(self, member: Member) -> bool:
        """A new assignment: give back what is committed, then claim; the rest at a later time."""
        self._ever_joined = True
        moving = self.holdings.held - member.assigned
        if any(self.holdings.known[p].unsettled for p in moving) and not (
            self.claims.commit_finished(member)
        ):
            self._again_at = self.clock.monotonic() + _AGAIN_S
            return True
        for partition in moving:
            self.holdings.give_back(partition)
        led = self.claims.lead(member, self.kept.led.ours)
        self.claims.claim(member, member.assigned - self.holdings.held)
        now = self.clock.monotonic()
        if led and not self.holdings.waiting:
            self._adopted = (member.life, member.generation)
            self._incomplete_since = float("inf")
            self.emptiness.look(member.assigned, self.topics.missing(), self.subscribed)
        else:
            self._again_at = now + _AGAIN_S
            self._incomplete_since = min(self._incomplete_since, now)
        if now - self._incomplete_since > self.settings.session_timeout_ms / 1000.0:
            # Perhaps the leader is a static member that came back and leads no more.
            self._incomplete_since = float("inf")
            self.kept.ask_to_join("some partitions cannot be claimed under this leader")
        if moving:
            self.kept.ask_to_join(f"{len(moving)} partitions were given back")
            return False
        return True

    # -- how it stands

    def _has_lease(self) -> bool:
        member = self.kept.member
        return member.life == self.holdings.life and self.clock.monotonic() < self.kept.lease_ends

    def _standing(self) -> Standing:
        member = self.kept.member
        may_plan = self._has_lease()
        known = self.holdings.known
        positions = {
            p: Position(known[p].done, self.topics.thread(p), known[p].current)
            for p in (self.holdings.held if may_plan else ())
        }
        adopted = self._adopted == (member.life, member.generation)
        expected = "" if adopted and not member.needs_join else "the group is being assigned"
        return Standing(
            positions,
            waiting=dict(self.holdings.waiting),
            notes=self._all_notes(),
            settled=may_plan and not expected,
            expected=expected,
        )

    def _all_notes(self) -> tuple[str, ...]:
        said = list(self._notes)
        member = self.kept.member
        if member.phase == "rebalancing":
            said.append("the group is rebalancing")
        if self._ever_joined and self.clock.monotonic() >= self.kept.lease_ends:
            said.append(f"the group coordinator is silent: {self.requests.trouble}")
        return tuple(said)
