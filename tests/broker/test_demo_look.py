"""What the demo's onlooker sees of a group, on real servers."""

from __future__ import annotations

import uuid

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.look import Look, Onlooker
from zkgroup_sandbox.produce import produce
from zkgroup_sandbox.sessions import session


def test_it_sees_members_owners_and_offsets_of_a_group(sandbox: Sandbox) -> None:
    topic = group = f"seen-{uuid.uuid4().hex[:8]}"
    paths = GroupPaths(group)
    sandbox.create_topic(topic, 2)
    produce(sandbox.bootstrap_servers, topic, 10)
    connect = sandbox.kafka_zookeeper_connect
    onlooker = Onlooker(connect, sandbox.bootstrap_servers, group, topic, 2)
    try:
        assert onlooker.look() == Look(ends={0: 5, 1: 5})
        with session(connect) as client:
            first, second = (TopicPartition(topic, n) for n in range(2))
            client.create(paths.id("a-b-1"), b"{}", ephemeral=True, makepath=True)
            client.create(paths.owner(first), b"a-b-1-0", ephemeral=True, makepath=True)
            client.create(paths.offset(second), b"3", makepath=True)
            seen = onlooker.look()
            assert seen.members == frozenset({"a-b-1"})
            assert seen.owners == {0: "a-b-1"}
            assert (seen.committed, seen.total_lag) == ({1: 3}, 7)
            client.delete(paths.owner(first))
            client.create(paths.owner(first), b"a-b-1-0", ephemeral=True)
            assert onlooker.look().kept_since(seen) == 0
    finally:
        onlooker.close()
