"""The group without members in whose notes operators ask those of another."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyspark_zkgroup.group.noted_requests import encode_note
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

    def put(self, partition: TopicPartition, note: str) -> None:
        self._offsets[partition] = Stored(0, note)

    def withdraw_all(self) -> None:
        for partition in self._offsets:
            self.put(partition, encode_note([]))

    def _put(self, topic: str, one: Any) -> int:
        self.put(TopicPartition(topic, one.partition_index), one.committed_metadata)
        return codes.NONE
