"""The group without members in whose notes operators ask those of another."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_group import Stored
from tests.fakes.group_answers import committed, fetched


class NotedGroup:
    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, Stored] = {}

    def answer(self, word: str, request: Any, denied: Collection[str]) -> Any:
        if word == "commit":
            return committed(request, self._put)
        return fetched(request, self._offsets, denied)

    def _put(self, topic: str, one: Any) -> int:
        stored = Stored(one.committed_offset, one.committed_metadata)
        self._offsets[TopicPartition(topic, one.partition_index)] = stored
        return codes.NONE
