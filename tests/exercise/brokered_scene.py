"""A case of a group that the brokers coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from pyspark_zkgroup.kafka import brokered_groups
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import BrokeredGroup
from tests.exercise.cast import SESSION_MS, Cast, Running
from tests.exercise.draw import Drawn
from tests.exercise.load import Load
from tests.interop.consumer_program import command
from zkgroup_sandbox import Sandbox

_ANSWER_S = 10.0
# Of the broker, and of the consumers in Java.
LINE = "4.1"


class BrokeredScene(Cast):
    marker = '"memberId": "'

    def __init__(self, drawn: Drawn, sandbox: Sandbox, load: Load, logs: Path, state: Path) -> None:
        self.servers = sandbox.bootstrap_servers
        place = {
            "kafka.bootstrap.servers": self.servers,
            "session.timeout.ms": str(SESSION_MS),
            "heartbeat.interval.ms": "500",
        }
        super().__init__(drawn, sandbox, load, logs, state, place)
        self._cluster = Cluster(FetchSettings(tuple(self.servers.split(","))))
        self._admin: Any = KafkaAdminClient(bootstrap_servers=self.servers)

    def plain(self, name: str, *habits: str) -> Running:
        """A consumer in Python of the first topic."""
        arguments = [self.servers, self.group, self.drawn.topics[0], *habits]
        return self.process("tests.exercise.consumer", arguments, name)

    def java(self, name: str, *protocol: str) -> Running:
        arguments = (self.servers, self.group, self.drawn.topics[0], "read_uncommitted", *protocol)
        return self.program(command("PlainConsumer", *arguments, line=LINE), name)

    # -- what the brokers say

    def seen(self) -> BrokeredGroup:
        found = brokered_groups.look(self._cluster, [self.group], timeout_s=_ANSWER_S)
        return found[0] if found else BrokeredGroup(self.group)

    def offset(self, topic: str, partition: int) -> int:
        offsets = self._admin.list_group_offsets([self.group])[self.group]
        found = offsets.get(TopicPartition(topic, partition))
        return -1 if found is None else int(found.offset)

    def set_offsets(self, topic: str, offsets: Mapping[int, int]) -> None:
        """As a tool does in a group without members."""
        made = {TopicPartition(topic, p): OffsetAndMetadata(n, "", -1) for p, n in offsets.items()}
        errors = self._admin.alter_group_offsets(self.group, made)
        assert all(error.errno == 0 for error in errors.values()), errors

    def wait_shared(self, members: int, idle: int = 0) -> BrokeredGroup:
        """So many members have joined, all but the idle ones read, all is committed to once."""
        count = sum(self.partitions.values())

        def shared() -> BrokeredGroup | None:
            group = self.seen()
            shares = [len(member.assigned) for member in group.members]
            is_shared = not group.is_rebalancing and sum(shares) == count
            return (
                group if is_shared and (len(shares), shares.count(0)) == (members, idle) else None
            )

        self.wait(f"{members} members to share all", shared)
        self.wait(
            "offsets to be committed",
            lambda: all(
                self.offset(topic, n) > 0
                for topic, number in self.partitions.items()
                for n in range(number)
            ),
        )
        return self.seen()

    def wait_said_often(self, name: str, text: str, times: int) -> None:
        log = self.logs / f"{name}.log"
        self.wait(f"{name} to say {text!r}", lambda: log.read_text().count(text) >= times)

    def close(self) -> None:
        super().close()
        self._admin.close()
        self._cluster.close()
