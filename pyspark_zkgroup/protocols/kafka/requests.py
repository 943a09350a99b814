"""What the planner's thread asks the group coordinator: the group's offsets, and whether we are
still a member. Over a separate connection: the keeper's may be waiting for a join.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka import group_wire, member_wire
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_wire import Write
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.rules.commit_verdict import judge_commit
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset
from pyspark_zkgroup.protocols.kafka.rules.member import Member

_TIMEOUT_S = 5.0
# The broker appends one request's offsets as one batch, which must stay below message.max.bytes.
_WRITES_MAX = 1000


class GroupRequests:
    def __init__(self, kept: KeptMember, connect: Callable[[], GroupCoordinator]) -> None:
        self.kept = kept
        self._connect = connect
        self._coordinator: GroupCoordinator | None = None

    @property
    def trouble(self) -> str:
        return self._coordinator.trouble if self._coordinator is not None else ""

    def read(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, GroupOffset]:
        """What is not told now is left out: all of it where the coordinator is silent."""
        if not partitions:
            return {}
        coordinator = self.connected()
        response = coordinator.ask(
            group_wire.fetch_request(self.kept.group, partitions), timeout_s=_TIMEOUT_S
        )
        answer = None if response is None else group_wire.fetch_answer(response)
        if answer is None or isinstance(answer, BrokerError):
            coordinator.trouble = coordinator.trouble or f"the offsets are not told: {answer}"
            code = coordinator.unanswered if answer is None else answer.code
            self.kept.offsets_refused(code, "")
            coordinator.forget()
            return {}
        found: dict[TopicPartition, GroupOffset] = {}
        for partition, stored in answer.items():
            if stored is None:
                found[partition] = GroupOffset(None)
            elif isinstance(stored, BrokerError):
                coordinator.trouble = f"the offset of {partition} is not told: {stored}"
                self.kept.offsets_refused(stored.code, f" {partition}")
                if codes.meaning_of("offset fetch", stored.code) is Meaning.LOOK_UP:
                    coordinator.forget()
            else:
                found[partition] = GroupOffset(stored.offset, stored.note)
        return found

    def write(
        self, member: Member, writes: Mapping[TopicPartition, Write]
    ) -> dict[TopicPartition, Meaning]:
        """What became of each. Ends early where the next part would be refused as well."""
        names = sorted(writes)
        found = dict.fromkeys(names, Meaning.UNSENT)
        for at in range(0, len(names), _WRITES_MAX):
            part = {p: writes[p] for p in names[at : at + _WRITES_MAX]}
            sent_at = self.kept.clock.monotonic()
            coordinator = self.connected()
            response = coordinator.ask(
                member_wire.commit_request(self.kept.who(member), part), timeout_s=_TIMEOUT_S
            )
            answer = None if response is None else member_wire.commit_answer(response)
            verdict = judge_commit(part, answer, coordinator.unanswered)
            found |= verdict.outcomes
            self.kept.commit_answered(member, verdict, sent_at)
            if codes.meaning_of("heartbeat", verdict.code) is Meaning.LOOK_UP:
                coordinator.forget()
            if not verdict.goes_on:
                break
        return found

    def heartbeat(self, member: Member) -> int:
        sent_at = self.kept.clock.monotonic()
        coordinator = self.connected()
        response = coordinator.ask(
            member_wire.heartbeat_request(self.kept.who(member)), timeout_s=_TIMEOUT_S
        )
        code = coordinator.unanswered
        if response is not None:
            code = member_wire.heartbeat_answer(response)
        if codes.meaning_of("heartbeat", code) is Meaning.LOOK_UP:
            coordinator.forget()
        self.kept.beat_answered(member, code, sent_at)
        return code

    def close(self) -> None:
        if self._coordinator is not None:
            self._coordinator.close()
            self._coordinator = None

    def connected(self) -> GroupCoordinator:
        if self._coordinator is None:
            self._coordinator = self._connect()
        return self._coordinator
