"""Where the owners and the offsets of a group are in ZooKeeper."""

from __future__ import annotations

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.port import Node
from tests.fakes.zookeeper import FakeZookeeper


class GroupNodes:
    def __init__(self, server: FakeZookeeper, group: str) -> None:
        self._server = server
        self.owners_at = f"/consumers/{group}/owners/"
        self.offsets_at = f"/consumers/{group}/offsets/"

    def is_of_owner(self, path: str) -> bool:
        return path.startswith(self.owners_at)

    def is_of_offset(self, path: str) -> bool:
        return path.startswith(self.offsets_at)

    def owned(self, path: str) -> TopicPartition | None:
        """Return None if it is the path of a topic."""
        return _partition(path, self.owners_at)

    def committed(self, path: str) -> TopicPartition | None:
        return _partition(path, self.offsets_at)

    def offset(self, partition: TopicPartition) -> Node | None:
        path = f"{self.offsets_at}{partition.topic}/{partition.partition}"
        return self._server.leader.nodes.get(path)


def _partition(path: str, root: str) -> TopicPartition | None:
    topic, slash, number = path.removeprefix(root).partition("/")
    return TopicPartition(topic, int(number)) if slash and number.isdecimal() else None
