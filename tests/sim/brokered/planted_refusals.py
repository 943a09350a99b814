"""Bugs in the handling of the brokers' error codes, and of a clock. All of them were the product's
own, until an audit of its code found them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.model import Fence, TopicPartition
from pyspark_zkgroup.protocols.kafka import kept_member
from pyspark_zkgroup.protocols.kafka import requests as kafka_requests
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.rules.commit_verdict import CommitVerdict, judge_commit
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupProgress
from pyspark_zkgroup.protocols.kafka.rules.member import Member, Turn, heartbeat_answered
from tests.sim.planting import Bugs, Patches, put
from tests.sim.world import VirtualClock

_REFUSED_NOW = (codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR)


def _plan_under_a_bare_token() -> Patches:
    """After a commit that was refused for now the group holds another offset than the plan's."""

    def current(self: GroupProgress) -> Fence:
        if not self.doubts:
            return self.fence
        return Fence("+".join(f"{token}@{at}" for token, at in self._writes))

    return [put(GroupProgress, "current", property(current))]


def _moved_before_the_append() -> Patches:
    """15 and 16 as refusals without effect, though a broker may answer them after it."""

    def judge(
        sent: Collection[TopicPartition],
        answer: Mapping[TopicPartition, int] | None,
        unanswered: int = codes.SILENCE,
    ) -> CommitVerdict:
        verdict = judge_commit(sent, answer, unanswered)
        surely_not = {p for p, code in (answer or {}).items() if code in _REFUSED_NOW}
        outcomes = {p: Meaning.AGAIN if p in surely_not else v for p, v in verdict.outcomes.items()}
        return replace(verdict, outcomes=outcomes)

    return [put(kafka_requests, "judge_commit", judge)]


def _a_refused_right_is_a_success() -> Patches:
    """GROUP_AUTHORIZATION_FAILED does not concern the member, so a commit renews the lease."""

    def judge(
        sent: Collection[TopicPartition],
        answer: Mapping[TopicPartition, int] | None,
        unanswered: int = codes.SILENCE,
    ) -> CommitVerdict:
        verdict = judge_commit(sent, answer, unanswered)
        if verdict.code != codes.GROUP_AUTHORIZATION_FAILED:
            return verdict
        return replace(verdict, code=codes.NONE, renews=answer is not None)

    def answered(member: Member, code: int, *args: Any, **named: Any) -> Turn:
        if code == codes.GROUP_AUTHORIZATION_FAILED:
            return Turn(member, "back off")
        return heartbeat_answered(member, code, *args, **named)

    return [
        put(kafka_requests, "judge_commit", judge),
        put(kept_member, "heartbeat_answered", answered),
        put(KeptMember, "offsets_refused", lambda _self, _code, _of: None),
    ]


def _the_first_partition_speaks_for_all() -> Patches:
    def judge(
        sent: Collection[TopicPartition],
        answer: Mapping[TopicPartition, int] | None,
        unanswered: int = codes.SILENCE,
    ) -> CommitVerdict:
        verdict = judge_commit(sent, answer, unanswered)
        if answer is None:
            return verdict
        first = judge_commit([min(sent)], answer)
        of_the_partition = first.code in (
            codes.UNKNOWN_TOPIC_OR_PARTITION,
            codes.TOPIC_AUTHORIZATION_FAILED,
        )
        code = codes.NONE if of_the_partition else first.code
        return replace(first, outcomes=verdict.outcomes, code=code, renews=code == codes.NONE)

    return [put(kafka_requests, "judge_commit", judge)]


def _gone_at_the_first_word() -> Patches:
    real = KafkaClaims._note_unknown

    def note_unknown(self: KafkaClaims, answers: Mapping[TopicPartition, Meaning]) -> None:
        for partition, found in answers.items():
            if found is Meaning.GONE:
                at = self.holdings.known[partition]
                self.holdings.known[partition] = GroupProgress(at.fence, at.done, at.done)
        real(self, {p: v for p, v in answers.items() if v is not Meaning.GONE})

    return [put(KafkaClaims, "_note_unknown", note_unknown)]


def _a_clock_that_sleeps_too() -> Patches:
    """It does not count the time for which the machine was suspended."""

    def monotonic(self: VirtualClock) -> float:
        return (self.world.now - self.suspended_s) * self.rate

    return [put(VirtualClock, "monotonic", monotonic)]


REFUSAL_BUGS: Final[Bugs] = {
    "plan under a bare token": _plan_under_a_bare_token,
    "moved before the append": _moved_before_the_append,
    "a refused right is a success": _a_refused_right_is_a_success,
    "the first partition speaks for all": _the_first_partition_speaks_for_all,
    "gone at the first word": _gone_at_the_first_word,
    "a clock that sleeps too": _a_clock_that_sleeps_too,
}
