"""Fetching from the replica in the client's own rack, on two brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.kafka import leaders
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.connection import Call, Cluster, Request
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.kafka.leader_cache import Leader
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox

pytestmark = pytest.mark.long
COUNT = 500
TP = TopicPartition("events", 0)


class Watched(Cluster):
    """Notes which broker is asked for records."""

    def __init__(self, settings: FetchSettings) -> None:
        super().__init__(settings)
        self.asked: list[int] = []

    def start(self, node: int, request: Request, *, timeout_s: float) -> Call:
        self.asked.append(node)
        return super().start(node, request, timeout_s=timeout_s)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("racks"), brokers=2) as made:
        made.create_topic(TP.topic, 1, {"min.insync.replicas": "1"}, replication=2)
        produce(made.bootstrap_servers, TP, [b"%d" % n for n in range(COUNT)])
        yield made


def read(servers: Sandbox, rack: str) -> tuple[Watched, int, int]:
    """The cluster as it was asked, the leader, and the bytes that came."""
    bootstrap = tuple(servers.bootstrap_servers.split(","))
    cluster = Watched(FetchSettings(bootstrap, client=ClientSettings(rack=rack), deadline_s=60.0))
    found = read_ranges(cluster, {TP: OffsetRange(0, COUNT)})
    size = sum(len(raw.data) for raw in found)
    leader = leaders.find(cluster, [TP], timeout_s=10)[TP]
    assert isinstance(leader, Leader)
    return cluster, leader.node, size


def test_records_come_from_the_replica_in_the_clients_rack(servers: Sandbox) -> None:
    cluster, leader, size = read(servers, "")
    cluster.close()
    assert set(cluster.asked) == {leader}
    follower = 3 - leader
    cluster, _, size_near = read(servers, f"rack-{follower}")
    cluster.close()
    assert cluster.asked[0] == leader
    assert set(cluster.asked[1:]) == {follower}
    assert size_near == size > 0


def test_a_replica_that_is_gone_sends_the_client_back_to_the_leader(servers: Sandbox) -> None:
    cluster, leader, size = read(servers, "rack-1")
    cluster.close()
    follower = 3 - leader
    cluster, _, _ = read(servers, f"rack-{follower}")
    asked = len(cluster.asked)
    servers.brokers[follower - 1].kill()
    found = read_ranges(cluster, {TP: OffsetRange(0, COUNT)})
    assert sum(len(raw.data) for raw in found) == size
    assert cluster.asked[asked] == follower
    assert cluster.asked[-1] == leader
    cluster.close()
