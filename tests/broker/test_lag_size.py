"""`zkgroup lag` of a large group, as it is started from a shell. Seconds are printed; what it asks
of the servers, which no load changes, is what is asserted.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyspark_zkgroup.cli.found import found_group
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.group.ops import Create, Done
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.inspect.group_reader import opened
from pyspark_zkgroup.model import TopicPartition
from zkgroup_sandbox import Sandbox

TOPICS, EACH = 20, 500
RUNS = 5


@pytest.mark.long
@pytest.mark.timeout(900)
def test_lag_over_ten_thousand_partitions(
    new_sandbox: Callable[..., Sandbox], capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox = new_sandbox(kafka="3.9", kafka_heap_mb=1024)
    connect = sandbox.kafka_zookeeper_connect
    topics = [f"wide-{n:02d}" for n in range(TOPICS)]
    for topic in topics:
        sandbox.create_topic(topic, EACH)
    paths = GroupPaths("many")
    partitions = [TopicPartition(topic, n) for topic in topics for n in range(EACH)]
    with opened(connect) as store:
        store.ensure([paths.offset_topic(topic) for topic in topics])
        outcomes = store.commit([(Create(paths.offset(p), b"0"),) for p in partitions])
        assert all(isinstance(outcome, Done) for outcome in outcomes)
    took_s, spent_s = [], []
    shown = ""
    for _ in range(RUNS):
        before, began = _children_s(), time.monotonic()
        shown = subprocess.run(
            [Path(sys.executable).parent / "zkgroup", "lag", "many", "--json"],
            env={**os.environ, "ZKGROUP_ZOOKEEPER": connect},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        took_s.append(time.monotonic() - began)
        spent_s.append(_children_s() - before)
    told = json.loads(shown)
    assert (told["lag"], told["partitions_without_lag"]) == (0, 0)
    assert len(told["topics"]) == len(partitions)
    with found_group(connect, "", "many") as live:
        assert isinstance(live, LiveGroup)
        began = time.monotonic()
        live.look()
        look_s = time.monotonic() - began
        asked = (live.store.requests, live.ends._cluster.requests)
    with capsys.disabled():
        print(
            f"\nzkgroup lag over {len(partitions)} partitions, from the shell: "
            f"{', '.join(f'{s:.2f}' for s in took_s)} s, of which processor "
            f"{', '.join(f'{s:.2f}' for s in spent_s)} s; one look {look_s:.2f} s; {asked[0]} "
            f"requests to ZooKeeper and {asked[1]} to Kafka; load {os.getloadavg()[0]:.1f}"
        )
    assert asked[0] <= 100
    assert asked[1] <= 10


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
