"""Keeps one member's membership with the group coordinator alive, in its own thread.

The planner runs only when Spark calls, and a micro-batch may take minutes: heartbeats, and the
waiting for a join's answer, cannot stand in line with it. The thread has its own connection, since
a join that is pending blocks the one it was sent on. It asks and notes; when to join, and what a
new assignment means for what is held, is decided at the boundary, by its reader.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka import member_wire, metadata
from pyspark_zkgroup.kafka.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.kafka.member_wire import JoinAnswer, Membership
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember, assign
from pyspark_zkgroup.protocols.kafka.rules.commit_verdict import CommitVerdict
from pyspark_zkgroup.protocols.kafka.rules.member import (
    Joined,
    Member,
    Step,
    Turn,
    ask_to_join,
    begin_join,
    heartbeat_answered,
    join_answered,
    membership_given_up,
    offsets_refused,
    sync_answered,
)
from pyspark_zkgroup.threads import Running

_GRACE_S = 5.0
_METADATA_S = 10.0
_LEAVE_S = 3.0
_PAUSE_S = 0.2
_NO_LIMIT_MS = 2**31 - 1
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class Led:
    """What a leader knows of the generation it has assigned. `ours` are the partitions of zkgroup
    members, who leave first positions to it; `topics` those that any member reads.
    """

    members: int = 0
    topics: Mapping[str, tuple[int, ...]] | None = None
    ours: frozenset[TopicPartition] = frozenset()


class GroupKeeper:
    def __init__(
        self,
        group: str,
        instance: str | None,
        settings: KafkaGroupSettings,
        rebalance_timeout_ms: int,
        connect: Callable[[], GroupCoordinator],
        environment: Environment,
    ) -> None:
        self.group = group
        self.settings = settings
        self.clock = environment.clock
        self.led = Led()
        self.heard_at = float("-inf")
        """When the newest request was sent that the coordinator has answered as one of ours."""
        self._rebalance_timeout_ms = rebalance_timeout_ms or _NO_LIMIT_MS
        self._connect = connect
        self._threads = environment.threads
        self._changed = environment.new_condition()
        self._member = Member(instance=instance)
        self.joined_topics: tuple[str, ...] = ()
        """What the newest join has subscribed to."""
        self._reason = ""
        self._farewell: Member | None = None
        self._closing = False
        self._beat_at = 0.0
        self._thread: Running | None = None

    # -- for the planner's thread

    @property
    def member(self) -> Member:
        return self._member

    @property
    def lease_ends(self) -> float:
        """Until when we cannot have been counted dead, with a quarter of the time to spare."""
        return self.heard_at + 0.75 * self.settings.session_timeout_ms / 1000.0

    def who(self, member: Member) -> Membership:
        return Membership(self.group, member.id, member.generation, member.instance)

    def begin_join(self, seen: Member, owned: frozenset[TopicPartition], topics: list[str]) -> bool:
        """False where membership was lost since: then nothing is owned any more."""
        with self._changed:
            if self._member.life != seen.life or not self._member.needs_join:
                return False
            self._reason = self._member.rejoin or "a new member"
            self._member = begin_join(self._member, owned).member
            self.joined_topics = tuple(topics)
            if self._thread is None:
                self._thread = self._threads.start(self._run, "zkgroup-kafka")
            self._changed.notify_all()
            return True

    def ask_to_join(self, why: str) -> None:
        with self._changed:
            self._member = ask_to_join(self._member, why)

    def beat_answered(self, seen: Member, code: int, sent_at: float) -> None:
        """A heartbeat that the planner's thread has sent."""
        with self._changed:
            self._note(heartbeat_answered(self._member, code, seen.generation).member)
            self._hear_beat(code, sent_at)

    def commit_answered(self, seen: Member, verdict: CommitVerdict, sent_at: float) -> None:
        of = f" {', '.join(map(str, verdict.of[:3]))}"
        with self._changed:
            answered = heartbeat_answered(
                self._member, verdict.code, seen.generation, "commit", of=of
            )
            self._note(answered.member)
            if verdict.renews:
                self._hear(sent_at)

    def offsets_refused(self, code: int, of: str) -> None:
        with self._changed:
            self._note(offsets_refused(self._member, code, of))

    def await_change(self, seen: Member, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._member is not seen, timeout_s)

    def give_up(self, why: str) -> None:
        """Leave, and be no member until the next join."""
        with self._changed:
            if self._member.phase != "unjoined":
                self._farewell = self._member
                self._note(membership_given_up(self._member, why))

    def close(self, *, leave: bool) -> None:
        with self._changed:
            if leave and self._member.phase != "unjoined":
                self._farewell = self._member
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_LEAVE_S + _GRACE_S)

    # -- in its own thread

    def _run(self) -> None:
        coordinator = self._connect()
        try:
            while self._turn(coordinator):
                pass
        except BaseException:
            _log.exception(catalogue.warning("ZKG-161", group=self.group))
            with self._changed:
                self._note(replace(self._member, fatal="the heartbeat's thread has died"))
            raise
        finally:
            coordinator.close()

    def _turn(self, coordinator: GroupCoordinator) -> bool:
        with self._changed:
            while (wait_s := self._idle_for()) > 0:
                self._changed.wait(None if wait_s == float("inf") else wait_s)
            farewell, self._farewell = self._farewell, None
            member, closing = self._member, self._closing
        if farewell is not None:
            self._leave(coordinator, farewell)
        elif closing:
            return False
        elif member.phase == "rebalancing":
            self._rest(coordinator, self._join(coordinator, member))
        elif member.phase == "stable":
            self._rest(coordinator, self._beat(coordinator, member))
        return True

    def _idle_for(self) -> float:
        if self._closing or self._farewell is not None:
            return 0.0
        if self._member.fatal or self._member.phase == "unjoined":
            return float("inf")
        if self._member.phase == "rebalancing":
            return 0.0
        return self._beat_at - self.clock.monotonic()

    def _beat(self, coordinator: GroupCoordinator, member: Member) -> Step:
        sent_at = self.clock.monotonic()
        timeout_s = self.settings.session_timeout_ms / 3000.0
        response = coordinator.ask(
            member_wire.heartbeat_request(self.who(member)), timeout_s=timeout_s
        )
        code = coordinator.unanswered
        if response is not None:
            code = member_wire.heartbeat_answer(response)
        with self._changed:
            turn = heartbeat_answered(self._member, code, member.generation)
            self._note(turn.member)
            self._hear_beat(code, sent_at)
            self._beat_at = sent_at + self.settings.heartbeat_interval_ms / 1000.0
            if code == codes.SILENCE:
                self._beat_at = self.clock.monotonic()
        return turn.step

    def _join(self, coordinator: GroupCoordinator, member: Member) -> Step:
        subscription = MemberSubscription(
            self.joined_topics, member.owned, member.generation, is_zkgroup=True
        )
        request = member_wire.join_request(
            self.who(member),
            protocol=self.settings.assignor,
            subscription=encode_subscription(subscription),
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            reason=self._reason,
        )
        response = coordinator.ask(
            request,
            timeout_s=self._rebalance_timeout_ms / 1000.0 + _GRACE_S,
            abandoned=lambda: self._overtaken(member),
        )
        answer = None if response is None else member_wire.join_answer(response)
        with self._changed:
            if self._overtaken(member):
                return "rest"
            joined, code = None, coordinator.unanswered
            if answer is not None:
                joined = Joined(answer.member, answer.generation, answer.leads)
                code = answer.code
            turn = join_answered(self._member, code, joined)
            self._note(turn.member)
        if turn.step != "sync" or answer is None:
            return turn.step
        return self._sync(coordinator, turn.member, answer)

    def _sync(self, coordinator: GroupCoordinator, member: Member, joined: JoinAnswer) -> Step:
        sent_at = self.clock.monotonic()
        assignments: dict[str, bytes] = {}
        led = Led()
        if joined.leads:
            try:
                assignments, led = self._assign(coordinator, joined)
            except ServerError as error:
                _log.warning(catalogue.warning("ZKG-162", group=self.group, error=error))
                return "back off"
        request = member_wire.sync_request(
            self.who(member),
            protocol=self.settings.assignor,
            assignments={} if joined.skip else assignments,
        )
        response = coordinator.ask(
            request,
            timeout_s=self._rebalance_timeout_ms / 1000.0 + _GRACE_S,
            abandoned=lambda: self._overtaken(member),
        )
        code, assignment = coordinator.unanswered, MemberAssignment()
        if response is not None:
            answer = member_wire.sync_answer(response)
            code, assignment = answer.code, self._read(answer.assignment)
        with self._changed:
            if self._overtaken(member):
                return "rest"
            turn = sync_answered(self._member, code, assignment)
            if joined.skip:
                # The broker kept the assignment our predecessor made; who has what in it, only a
                # new one tells.
                turn = Turn(ask_to_join(turn.member, "a leader that is back assigns"), turn.step)
            self.led = Led() if joined.skip else led
            self._note(turn.member)
            if codes.meaning_of("sync", code) is Meaning.DONE:
                self._hear(sent_at)
            self._beat_at = self.clock.monotonic() + self.settings.heartbeat_interval_ms / 1000.0
        return turn.step

    def _assign(
        self, coordinator: GroupCoordinator, joined: JoinAnswer
    ) -> tuple[dict[str, bytes], Led]:
        """For all members. One whose subscription cannot be read is left with nothing."""
        members = []
        for entry in joined.members:
            try:
                subscription = decode_subscription(entry.subscription)
            except ValueError as error:
                _log.warning(
                    catalogue.warning("ZKG-163", member=entry.id, group=self.group, error=error)
                )
                subscription = MemberSubscription(())
            members.append(GroupMember(entry.id, subscription, entry.instance))
        names = {t for m in members for t in m.subscription.topics}
        topics = metadata.topics(coordinator.cluster, names, timeout_s=_METADATA_S)
        shares = assign(self.settings.assignor, members, topics)
        # First positions of others are ours to write only where our own options speak of the topic.
        led_by_us = {
            m.id
            for m in members
            if m.subscription.is_zkgroup and set(m.subscription.topics) <= set(self.joined_topics)
        }
        encoded = {
            member: encode_assignment(MemberAssignment(share, by_zkgroup=member in led_by_us))
            for member, share in shares.items()
        }
        ours = frozenset(p for member in led_by_us for p in shares[member])
        return encoded, Led(len(members), topics, ours)

    def _leave(self, coordinator: GroupCoordinator, member: Member) -> None:
        if member.id:
            request = member_wire.leave_request(self.who(member), "leaving")
            coordinator.ask(request, timeout_s=_LEAVE_S)

    def _rest(self, coordinator: GroupCoordinator, step: Step) -> None:
        if step in ("look up", "back off"):
            if step == "look up":
                coordinator.forget()
            with self._changed:
                if not self._closing:
                    self._changed.wait(_PAUSE_S)

    def _read(self, assignment: bytes) -> MemberAssignment:
        try:
            return decode_assignment(assignment)
        except ValueError as error:
            _log.warning(catalogue.warning("ZKG-164", group=self.group, error=error))
            return MemberAssignment()

    def _overtaken(self, member: Member) -> bool:
        return self._closing or self._member.life != member.life

    # -- under the lock

    def _hear_beat(self, code: int, sent_at: float) -> None:
        if codes.meaning_of("heartbeat", code) in (Meaning.DONE, Meaning.REBALANCE):
            self._hear(sent_at)

    def _hear(self, sent_at: float) -> None:
        self.heard_at = max(self.heard_at, sent_at)

    def _note(self, member: Member) -> None:
        before = self._member
        if member == before:
            return
        if member.life > before.life:
            why = member.rejoin or "the group has rebalanced without us"
            _log.warning(catalogue.warning("ZKG-165", group=self.group, reason=why))
            self.heard_at = float("-inf")
        elif member.phase == "stable" and before.phase != "stable":
            _log.info(
                "Joined group %s as %s, generation %d, %d partitions assigned%s",
                self.group,
                member.id,
                member.generation,
                len(member.assigned),
                ", as its leader" if member.leads else "",
            )
        elif member.rejoin and not before.rejoin:
            _log.info("Joining group %s again: %s", self.group, member.rejoin)
        self._member = member
        self._changed.notify_all()
