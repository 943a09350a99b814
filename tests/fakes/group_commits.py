"""How a fake coordinator answers a commit: partition by partition, each with its own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_group import Stored
from tests.fakes.group_answers import committed
from tests.fakes.group_refusals import Odd, Refusals
from tests.fakes.kafka import FakeKafka


class GroupCommits:
    """`of_member` returns what the group's state has to say of a commit, `put` stores an offset,
    and `told` receives each code that is answered.
    """

    def __init__(
        self,
        refusals: Refusals,
        kafka: FakeKafka,
        *,
        of_member: Callable[[Any], int],
        put: Callable[[int, TopicPartition, Stored], None],
        told: Callable[[int, str, int], None],
    ) -> None:
        self._refusals = refusals
        self._kafka = kafka
        self._of_member = of_member
        self._put = put
        self._told = told

    def answer(self, client: int, request: Any, *, refused: int, odd: Odd | None) -> Any:
        """Rights and metadata first, partition by partition; the coordinator is asked of the rest,
        if there is any.
        """
        asked = {
            TopicPartition(topic.name, one.partition_index)
            for topic in request.topics
            for one in topic.partitions
        }
        logs = self._kafka.logs
        own = {p: self._refusals.of_partition(client, p, is_there=p in logs) for p in asked}
        code = refused
        if not refused and codes.NONE in own.values():
            code = self._of_member(request)
        told: set[int] = set()

        def put(topic: str, one: Any) -> int:
            partition = TopicPartition(topic, one.partition_index)
            found = own[partition] or code
            is_odd = found == codes.NONE and odd is not None and odd.picks(partition)
            if found == codes.NONE and not (is_odd and odd and not odd.executed):
                self._put(client, partition, Stored(one.committed_offset, one.committed_metadata))
            if is_odd and odd is not None:
                found = odd.code
            told.add(found)
            return found

        response = committed(request, put)
        for each in sorted(told):
            self._told(client, "commit" if len(told) == 1 else "part of a commit", each)
        return response
