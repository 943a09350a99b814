"""What the operator of a group does to its offsets in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.group.ops import SetData
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.kafka import Log
from tests.fakes.zookeeper import FakeZookeeper


class Operator:
    def __init__(self, server: FakeZookeeper, paths: GroupPaths) -> None:
        self._server = server
        self._paths = paths

    def mend(self, logs: Mapping[TopicPartition, Log]) -> None:
        """What the operator named in the messages does: offsets beyond the end are set."""
        for partition, log in sorted(logs.items(), key=lambda one: one[0]):
            stat = self._server.leader.nodes.get(self._paths.offset(partition))
            if stat is None or not stat.data.isdigit():
                continue
            if not log.earliest <= int(stat.data) <= log.latest:
                self.set_offset(partition, log.earliest)

    def set_offset(self, partition: TopicPartition, value: int) -> None:
        path = self._paths.offset(partition)
        if path in self._server.leader.nodes:
            self._server.write(SetData(path, b"%d" % value, -1))

    def offset_nodes(self) -> dict[str, bytes]:
        """The offsets, as an export has them."""
        root = self._paths.offsets
        return {
            path: stat.data
            for path, stat in sorted(self._server.leader.nodes.items())
            if path.startswith(f"{root}/") and path.count("/") == root.count("/") + 2
        }
