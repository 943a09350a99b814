"""One member of a brokers' group, as the planner's thread and the keeper's thread share it.

Both ask the coordinator, over separate connections, and note its answers here under one lock. The
planner's thread begins joins; the keeper's waits here for its next errand.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Literal

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.consumer_protocol import MemberAssignment
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.member_wire import JoinAnswer, Membership
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.kafka.rules.commit_verdict import CommitVerdict
from pyspark_zkgroup.protocols.kafka.rules.leading import Led
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
    stepped_out,
    sync_answered,
)

Errand = Literal["join", "beat", "leave", "end"]
_log = logging.getLogger("pyspark_zkgroup.group")


class KeptMember:
    def __init__(
        self, group: str, instance: str | None, session_timeout_s: float, environment: Environment
    ) -> None:
        self.group = group
        self.clock = environment.clock
        self.led = Led()
        self.heard_at = float("-inf")
        """When the newest request was sent that the coordinator has answered as one of ours."""
        self.joined_topics: tuple[str, ...] = ()
        """What the newest join has subscribed to."""
        self.ids: set[str] = set()
        """All that the coordinator has given to this process."""
        self.join_reason = ""
        self._session_timeout_s = session_timeout_s
        self._changed = environment.new_condition()
        self._member = Member(instance=instance)
        self._farewell: Member | None = None
        self._closing = False

    @property
    def member(self) -> Member:
        return self._member

    @property
    def lease_ends(self) -> float:
        """Until when we cannot have been counted dead, with a quarter of the time to spare."""
        return self.heard_at + 0.75 * self._session_timeout_s

    def who(self, member: Member) -> Membership:
        return Membership(self.group, member.id, member.generation, member.instance)

    # -- for the planner's thread

    def begin_join(self, seen: Member, owned: frozenset[TopicPartition], topics: list[str]) -> bool:
        """False where membership was lost since: then nothing is owned any more."""
        with self._changed:
            if self._member.life != seen.life or not self._member.needs_join:
                return False
            self.join_reason = self._member.rejoin or "a new member"
            self._member = begin_join(self._member, owned).member
            self.joined_topics = tuple(topics)
            self._changed.notify_all()
            return True

    def ask_to_join(self, why: str) -> None:
        with self._changed:
            self._member = ask_to_join(self._member, why)

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

    def step_out(self) -> None:
        """Leave, with everything committed, and stay outside until the next join."""
        with self._changed:
            if self._member.phase != "unjoined":
                self._farewell, self._member = self._member, stepped_out(self._member)
                self.heard_at = float("-inf")
                self._changed.notify_all()

    def close(self, *, leave: bool) -> None:
        with self._changed:
            if leave and self._member.phase != "unjoined":
                self._farewell = self._member
            self._closing = True
            self._changed.notify_all()

    # -- for both threads

    def beat_answered(self, seen: Member, code: int, sent_at: float) -> Step:
        with self._changed:
            turn = heartbeat_answered(self._member, code, seen.generation)
            self._note(turn.member)
            if codes.meaning_of("heartbeat", code) in (Meaning.DONE, Meaning.REBALANCE):
                self._hear(sent_at)
        return turn.step

    # -- for the keeper's thread

    def next_errand(self, beat_at: float) -> tuple[Errand, Member]:
        """Wait for what is to do next, and for which membership."""
        with self._changed:
            while (wait_s := self._idle_for(beat_at)) > 0:
                self._changed.wait(None if wait_s == float("inf") else wait_s)
            if self._farewell is not None:
                leaving, self._farewell = self._farewell, None
                return "leave", leaving
            if self._closing:
                return "end", self._member
            return ("join" if self._member.phase == "rebalancing" else "beat"), self._member

    def pause(self, seconds: float) -> None:
        with self._changed:
            if not self._closing:
                self._changed.wait(seconds)

    def is_overtaken(self, seen: Member) -> bool:
        return self._closing or self._member.life != seen.life

    def join_answered(self, seen: Member, code: int, answer: JoinAnswer | None) -> Turn:
        joined = None
        if answer is not None:
            joined = Joined(answer.member, answer.generation, answer.leads)
        with self._changed:
            if self.is_overtaken(seen):
                return Turn(self._member, "rest")
            turn = join_answered(self._member, code, joined)
            self._note(turn.member)
        return turn

    def sync_answered(
        self, seen: Member, code: int, assignment: MemberAssignment, led: Led | None, sent_at: float
    ) -> Step:
        """`led` is None where the broker kept the assignment that our predecessor made."""
        with self._changed:
            if self.is_overtaken(seen):
                return "rest"
            turn = sync_answered(self._member, code, assignment)
            answered = turn.member
            if led is None:
                # Who has what in the predecessor's assignment, only a new one tells.
                answered = ask_to_join(answered, "a leader that is back assigns")
            self.led = led or Led()
            self._note(answered)
            if codes.meaning_of("sync", code) is Meaning.DONE:
                self._hear(sent_at)
        return turn.step

    def die(self) -> None:
        with self._changed:
            self._note(replace(self._member, fatal="the heartbeat's thread has died"))

    # -- under the lock

    def _idle_for(self, beat_at: float) -> float:
        if self._closing or self._farewell is not None:
            return 0.0
        if self._member.fatal or self._member.phase == "unjoined":
            return float("inf")
        if self._member.phase == "rebalancing":
            return 0.0
        return beat_at - self.clock.monotonic()

    def _hear(self, sent_at: float) -> None:
        self.heard_at = max(self.heard_at, sent_at)

    def _note(self, member: Member) -> None:
        before = self._member
        if member == before:
            return
        if member.id:
            self.ids.add(member.id)
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
