"""What a client with write access can leave in ZooKeeper next to honest members. Real servers."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator

import pytest

from tests.harness.group import missing, settle, twice
from tests.harness.light import LightGroup, served
from tests.harness.waiting import wait_until
from tests.security.spent import MIB
from zkgroup_sandbox import Sandbox


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    with served(sandbox) as made:
        yield made


def giant() -> bytes:
    threads = {f"absent{n}": 100_000 - n for n in range(60)}
    value = {"version": 1, "subscription": threads, "pattern": "static", "timestamp": "1"}
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator", "light"])
def test_a_giant_registration_stops_no_member(group: LightGroup, protocol: str) -> None:
    topic = group.topic(4)
    group.produce(topic, 10)
    ids = f"/consumers/{group.name}/ids"
    if protocol != "zookeeper":
        ids = f"/consumers/groups/{group.name}/ids"
    group.client.create(f"{ids}/giant", giant(), makepath=True)
    before = resource.getrusage(resource.RUSAGE_SELF)
    query = group.query(topic, protocol=protocol)
    settle(query)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert missing(group, query.rows) == [] == twice(query.rows)
    assert (after.ru_maxrss - before.ru_maxrss) * 1024 < 256 * MIB
    assert len(group.owners(topic)) == 4


GARBAGE = (b"", b"\xff\0\x1b[2J", b"[" * 100_000, b"{" * 500, b'"' * 500_000, b"9" * 500_000)


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator", "light"])
def test_garbage_in_every_node_that_is_read_stops_no_member(
    group: LightGroup, protocol: str
) -> None:
    topic, spoiled = group.topic(2), group.topic(1)
    group.produce(topic, 10)
    group.produce(spoiled, 10)
    consumers, groups = f"/consumers/{group.name}", f"/consumers/groups/{group.name}"
    broker = group.client.get_children("/brokers/ids")[0]
    good = group.client.get(f"/brokers/ids/{broker}")[0]
    made = [f"/brokers/ids/9{number}" for number in range(len(GARBAGE))]
    made += [f"/brokers/topics/garbage{number}" for number in range(len(GARBAGE))]
    try:
        for number, data in enumerate(GARBAGE):
            ids = consumers if protocol == "zookeeper" else groups
            group.client.create(f"{ids}/ids/x{number}", data, makepath=True)
            group.client.create(f"{consumers}/owners/{topic}/9{number}", data, makepath=True)
            group.client.create(f"{consumers}/offsets/{topic}/9{number}", data, makepath=True)
            group.client.create(made[number], data)
            group.client.create(made[number + len(GARBAGE)], data)
            for name in ("channel/x", "answers/x-"):
                group.client.create(f"{groups}/{name}/{number}", data, makepath=True)
        group.client.create(f"{consumers}/offsets/{spoiled}/0", b"no number", makepath=True)
        query = group.query(f"{topic},{spoiled}", protocol=protocol)

        def read_all() -> bool:
            query.trigger()
            return {row[0] for row in query.rows} == {topic} and len(query.rows) == 20

        wait_until(read_all, 30, "what is not spoiled to be read", interval_s=0.0)
        assert twice(query.rows) == []
        assert group.offsets(spoiled) == {0: b"no number"}
        assert group.client.get(f"/brokers/ids/{broker}")[0] == good
    finally:
        for path in made:
            group.client.delete(path)
