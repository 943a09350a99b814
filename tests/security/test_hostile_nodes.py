"""What anybody who may write to ZooKeeper can leave there, beside honest members. Real servers."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.sandbox import Sandbox
from tests.group import missing, settle, twice
from tests.light import LightGroup
from tests.security.spent import MIB


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    made = LightGroup(sandbox)
    try:
        made.office()
        made.in_office()
        yield made
    finally:
        made.close()


def giant() -> bytes:
    threads = {f"absent{n}": 100_000 - n for n in range(60)}
    value = {"version": 1, "subscription": threads, "pattern": "static", "timestamp": "1"}
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator", "light"])
def test_a_giant_registration_stops_nobody(group: LightGroup, protocol: str) -> None:
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
