"""Keeps one member's membership with the group coordinator alive, in its own thread.

The planner runs only when Spark calls, and a micro-batch may take minutes: heartbeats, and the
waiting for a join's answer, cannot stand in line with it. The thread has its own connection, since
a join that is pending blocks the one it was sent on. It asks and notes; when to join, and what a
new assignment means for what is held, is decided at the boundary, by its reader.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

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
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.kafka.member_wire import JoinAnswer
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember
from pyspark_zkgroup.protocols.kafka.rules.leading import Led, lead
from pyspark_zkgroup.protocols.kafka.rules.member import Member, Step
from pyspark_zkgroup.threads import Running, Threads

_GRACE_S = 5.0
_METADATA_S = 10.0
_LEAVE_S = 3.0
_PAUSE_S = 0.2
_NO_LIMIT_MS = 2**31 - 1
_log = logging.getLogger("pyspark_zkgroup.group")


class GroupKeeper:
    def __init__(
        self,
        kept: KeptMember,
        settings: KafkaGroupSettings,
        rebalance_timeout_ms: int,
        connect: Callable[[], GroupCoordinator],
        threads: Threads,
    ) -> None:
        self.kept = kept
        self.settings = settings
        self._rebalance_timeout_ms = rebalance_timeout_ms or _NO_LIMIT_MS
        self._connect = connect
        self._threads = threads
        self._thread: Running | None = None
        self._beat_at = 0.0

    # -- for the planner's thread

    def begin_join(self, seen: Member, owned: frozenset[TopicPartition], topics: list[str]) -> bool:
        """False where membership was lost since: then nothing is owned any more."""
        begun = self.kept.begin_join(seen, owned, topics)
        if begun and self._thread is None:
            self._thread = self._threads.start(self._run, "zkgroup-kafka")
        return begun

    def close(self, *, leave: bool) -> None:
        self.kept.close(leave=leave)
        if self._thread is not None:
            self._thread.join(_LEAVE_S + _GRACE_S)

    # -- in its own thread

    def _run(self) -> None:
        coordinator = self._connect()
        try:
            while self._turn(coordinator):
                pass
        except BaseException:
            _log.exception(catalogue.warning("ZKG-161", group=self.kept.group))
            self.kept.die()
            raise
        finally:
            coordinator.close()

    def _turn(self, coordinator: GroupCoordinator) -> bool:
        errand, member = self.kept.next_errand(self._beat_at)
        if errand == "leave":
            self._leave(coordinator, member)
        elif errand == "join":
            self._rest(coordinator, self._join(coordinator, member))
        elif errand == "beat":
            self._rest(coordinator, self._beat(coordinator, member))
        return errand != "end"

    def _beat(self, coordinator: GroupCoordinator, member: Member) -> Step:
        sent_at = self.kept.clock.monotonic()
        timeout_s = self.settings.session_timeout_ms / 3000.0
        response = coordinator.ask(
            member_wire.heartbeat_request(self.kept.who(member)), timeout_s=timeout_s
        )
        code = coordinator.unanswered
        if response is not None:
            code = member_wire.heartbeat_answer(response)
        step = self.kept.beat_answered(member, code, sent_at)
        self._beat_at = sent_at + self.settings.heartbeat_interval_ms / 1000.0
        if code == codes.SILENCE:
            self._beat_at = self.kept.clock.monotonic()
        return step

    def _join(self, coordinator: GroupCoordinator, member: Member) -> Step:
        subscription = MemberSubscription(
            self.kept.joined_topics, member.owned, member.generation, is_zkgroup=True
        )
        request = member_wire.join_request(
            self.kept.who(member),
            protocol=self.settings.assignor,
            subscription=encode_subscription(subscription),
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            reason=self.kept.join_reason,
        )
        response = coordinator.ask(
            request,
            timeout_s=self._rebalance_timeout_ms / 1000.0 + _GRACE_S,
            abandoned=lambda: self.kept.is_overtaken(member),
        )
        answer = None if response is None else member_wire.join_answer(response)
        code = coordinator.unanswered if answer is None else answer.code
        turn = self.kept.join_answered(member, code, answer)
        if turn.step != "sync" or answer is None:
            return turn.step
        return self._sync(coordinator, turn.member, answer)

    def _sync(self, coordinator: GroupCoordinator, member: Member, joined: JoinAnswer) -> Step:
        sent_at = self.kept.clock.monotonic()
        assignments: dict[str, bytes] = {}
        led = Led()
        if joined.leads:
            try:
                assignments, led = self._assign(coordinator, joined)
            except ServerError as error:
                _log.warning(catalogue.warning("ZKG-162", group=self.kept.group, error=error))
                return "back off"
        request = member_wire.sync_request(
            self.kept.who(member),
            protocol=self.settings.assignor,
            assignments={} if joined.skip else assignments,
        )
        response = coordinator.ask(
            request,
            timeout_s=self._rebalance_timeout_ms / 1000.0 + _GRACE_S,
            abandoned=lambda: self.kept.is_overtaken(member),
        )
        code, assignment = coordinator.unanswered, MemberAssignment()
        if response is not None:
            answer = member_wire.sync_answer(response)
            code, assignment = answer.code, self._read(answer.assignment)
        known = None if joined.skip else led
        step = self.kept.sync_answered(member, code, assignment, known, sent_at)
        self._beat_at = self.kept.clock.monotonic() + self.settings.heartbeat_interval_ms / 1000.0
        return step

    def _assign(
        self, coordinator: GroupCoordinator, joined: JoinAnswer
    ) -> tuple[dict[str, bytes], Led]:
        """For all members. One whose subscription cannot be read is left with nothing."""
        members = []
        for entry in joined.members:
            try:
                subscription = decode_subscription(entry.subscription)
            except ValueError as error:
                group = self.kept.group
                _log.warning(
                    catalogue.warning("ZKG-163", member=entry.id, group=group, error=error)
                )
                subscription = MemberSubscription(())
            members.append(GroupMember(entry.id, subscription, entry.instance))
        names = {t for m in members for t in m.subscription.topics}
        topics = metadata.topics(coordinator.cluster, names, timeout_s=_METADATA_S)
        assignments, led = lead(self.settings.assignor, members, topics, self.kept.joined_topics)
        return {member: encode_assignment(one) for member, one in assignments.items()}, led

    def _leave(self, coordinator: GroupCoordinator, member: Member) -> None:
        if member.id:
            request = member_wire.leave_request(self.kept.who(member), "leaving")
            coordinator.ask(request, timeout_s=_LEAVE_S)

    def _rest(self, coordinator: GroupCoordinator, step: Step) -> None:
        if step in ("look up", "back off"):
            if step == "look up":
                coordinator.forget()
            self.kept.pause(_PAUSE_S)

    def _read(self, assignment: bytes) -> MemberAssignment:
        try:
            return decode_assignment(assignment)
        except ValueError as error:
            _log.warning(catalogue.warning("ZKG-164", group=self.kept.group, error=error))
            return MemberAssignment()
