"""Asks the brokers for the group: DescribeGroups and OffsetFetch, of its coordinator."""

from __future__ import annotations

import itertools
import time
from typing import Any

from pyspark_zkgroup.kafka import group_wire, metadata
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.consumer_protocol import decode_assignment
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from tests.chaos.watch import Look

ANSWER_S = 5.0
NO_ERROR = 0
STABLE, EMPTY = "Stable", "Empty"


class GroupReader:
    """A member's client.id is its name in the run."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        self._cluster = Cluster(FetchSettings(tuple(bootstrap_servers.split(","))))
        self._group = group
        self._lives = itertools.count(1)

    def close(self) -> None:
        self._cluster.close()

    def read(self, partitions: int, before: Look) -> Look:
        del partitions
        at = time.time()
        node, group = self._described(before.coordinator)
        names = {m.member_id: str(m.client_id) for m in group.members}
        stable = group.group_state in (STABLE, EMPTY)
        if stable:
            owners = {
                partition: member.member_id
                for member in group.members
                for partition in decode_assignment(bytes(member.member_assignment)).partitions
            }
        else:
            # The brokers tell no assignment of a group that rebalances. Its members read on.
            owners = dict(before.owners)
        same = {p for p, owner in owners.items() if before.owners.get(p) == owner}
        return Look(
            at=at,
            members=frozenset(names),
            owners=owners,
            lives={p: before.lives[p] if p in same else next(self._lives) for p in owners},
            since={p: before.since[p] if p in same else at for p in owners},
            committed=self._offsets(node),
            names=names,
            stable=stable,
            coordinator=str(node),
        )

    def _described(self, last: str) -> tuple[int, Any]:
        """The broker that was the coordinator is asked first: another one may be paused."""
        found = self._ask({int(last)}) if last else None
        found = found or self._ask(self._brokers())
        if found is None:
            raise LookupError(f"no broker tells of group {self._group}")
        return found

    def _ask(self, nodes: set[int]) -> tuple[int, Any] | None:
        requests = {node: group_wire.describe_request(self._group) for node in nodes}
        for node, answer in self._cluster.ask_each(requests, timeout_s=ANSWER_S).items():
            if not isinstance(answer, Lost) and answer.groups[0].error_code == NO_ERROR:
                return node, answer.groups[0]
        return None

    def _brokers(self) -> set[int]:
        return set(metadata.read(self._cluster, (), timeout_s=ANSWER_S).brokers)

    def _offsets(self, node: int) -> dict[TopicPartition, int]:
        request = {node: group_wire.fetch_request(self._group, None)}
        response = self._cluster.ask_each(request, timeout_s=ANSWER_S)[node]
        answer = None if isinstance(response, Lost) else group_wire.fetch_answer(response)
        if answer is None or isinstance(answer, BrokerError):
            raise LookupError(f"broker {node} tells no offsets of group {self._group}: {answer}")
        return {p: o.offset for p, o in answer.items() if isinstance(o, StoredOffset)}
