"""What the planner's thread asks the group coordinator: the group's offsets, and whether we are
still a member. Over a connection of its own: the keeper's may be waiting for a join.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark_zkgroup.group.kafka_group import codes
from pyspark_zkgroup.group.kafka_group.fencing import Committed
from pyspark_zkgroup.group.kafka_group.member import Member
from pyspark_zkgroup.kafka import group_wire, member_wire
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.member_wire import Write
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.membership.kafka_keeper import GroupKeeper
from pyspark_zkgroup.model import TopicPartition

_TIMEOUT_S = 5.0
# The broker appends one request's offsets as one batch, which must stay below message.max.bytes.
_WRITES_MAX = 1000
_MOVED = (codes.NOT_COORDINATOR, codes.COORDINATOR_NOT_AVAILABLE, codes.SILENCE)


class GroupRequests:
    def __init__(self, keeper: GroupKeeper, connect: Callable[[], GroupCoordinator]) -> None:
        self.keeper = keeper
        self._connect = connect
        self._coordinator: GroupCoordinator | None = None

    @property
    def trouble(self) -> str:
        return self._coordinator.trouble if self._coordinator is not None else ""

    def read(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Committed]:
        """What is not told now is left out: all of it where the coordinator is silent."""
        if not partitions:
            return {}
        coordinator = self._connected()
        response = coordinator.ask(
            group_wire.fetch_request(self.keeper.group, partitions), timeout_s=_TIMEOUT_S
        )
        answer = None if response is None else group_wire.fetch_answer(response)
        if answer is None or isinstance(answer, BrokerError):
            coordinator.trouble = coordinator.trouble or f"the offsets are not told: {answer}"
            coordinator.forget()
            return {}
        found: dict[TopicPartition, Committed] = {}
        for partition, stored in answer.items():
            if stored is None:
                found[partition] = Committed(None)
            elif isinstance(stored, BrokerError):
                coordinator.trouble = f"the offset of {partition} is not told: {stored}"
                if stored.code in _MOVED:
                    coordinator.forget()
            else:
                found[partition] = Committed(stored.offset, stored.note)
        return found

    def write(
        self, member: Member, writes: Mapping[TopicPartition, Write]
    ) -> dict[TopicPartition, int]:
        """Codes of the protocol, SILENCE where nobody knows whether it was done. Ends early when
        this member is refused as such.
        """
        names = sorted(writes)
        found = dict.fromkeys(names, codes.SILENCE)
        for at in range(0, len(names), _WRITES_MAX):
            part = {p: writes[p] for p in names[at : at + _WRITES_MAX]}
            sent_at = self.keeper.clock.monotonic()
            coordinator = self._connected()
            response = coordinator.ask(
                member_wire.commit_request(self.keeper.who(member), part), timeout_s=_TIMEOUT_S
            )
            if response is None:
                break
            found |= member_wire.commit_answer(response)
            # What concerns the member stands at every partition.
            verdict = found[names[at]]
            self.keeper.answered(member, verdict if verdict in _OF_MEMBERS else 0, sent_at)
            if verdict in _MOVED:
                coordinator.forget()
            if verdict != codes.NONE:
                break
        return found

    def heartbeat(self, member: Member) -> int:
        sent_at = self.keeper.clock.monotonic()
        coordinator = self._connected()
        response = coordinator.ask(
            member_wire.heartbeat_request(self.keeper.who(member)), timeout_s=_TIMEOUT_S
        )
        code = codes.SILENCE if response is None else member_wire.heartbeat_answer(response)
        if code in _MOVED:
            coordinator.forget()
        self.keeper.answered(member, code, sent_at)
        return code

    def close(self) -> None:
        if self._coordinator is not None:
            self._coordinator.close()
            self._coordinator = None

    def _connected(self) -> GroupCoordinator:
        if self._coordinator is None:
            self._coordinator = self._connect()
        return self._coordinator


_OF_MEMBERS = (
    *_MOVED,
    codes.UNKNOWN_MEMBER_ID,
    codes.ILLEGAL_GENERATION,
    codes.FENCED_INSTANCE_ID,
    codes.REBALANCE_IN_PROGRESS,
    codes.COORDINATOR_LOAD_IN_PROGRESS,
)
