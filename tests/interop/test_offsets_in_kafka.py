"""offsets.storage=kafka together with the JVM: consumers and tools of old and present Kafkas see
the group's offsets, and continue from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.group import Group, group_of, settle
from tests.harness.kept_offsets import kept
from tests.interop import current_tools
from tests.interop.conftest import NewScene
from tests.interop.old_tools import OldTools
from tests.interop.scene import Setup
from zkgroup_sandbox import Sandbox

pytestmark = pytest.mark.interop


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[Group]:
    with group_of(sandbox) as made:
        yield made


def test_present_tools_see_the_lag_and_a_present_consumer_continues(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    query = group.query(topic, storage="kafka")
    settle(query)
    query.stop()
    group.produce(topic, 3)
    servers = ("--bootstrap-server", group.sandbox.bootstrap_servers)
    told = current_tools.run(current_tools.GROUPS, *servers, "--describe", "--group", group.name)
    rows = [line.split()[:6] for line in told.splitlines() if group.name in line]
    assert sorted(rows) == [[group.name, topic, str(p), "10", "13", "3"] for p in (0, 1)]

    told = current_tools.run(
        current_tools.CONSUMER,
        *(*servers, "--group", group.name, "--topic", topic, "--max-messages", "6"),
        *("--property", "print.offset=true", "--property", "print.value=false"),
    )
    assert sorted(told.split()) == sorted(f"Offset:{n}" for n in (10, 11, 12) for _ in (0, 1))
    assert kept(group, topic) == {0: 13, 1: 13}

    group.produce(topic, 2)
    again = group.query(topic, storage="kafka")
    settle(again)
    assert sorted(again.rows) == [(topic, p, n) for p in (0, 1) for n in (13, 14)]


@pytest.mark.long
def test_the_old_offset_checker_reads_the_layout_in_zookeeper(group: Group, tmp_path: Path) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    query = group.query(topic, threads="1", storage="kafka")
    settle(query)
    group.produce(topic, 3)
    tools = OldTools(tmp_path / "tools.log", "0.10.2.2")
    try:
        told = tools.run(
            "kafka.tools.ConsumerOffsetChecker",
            *("--zookeeper", group.sandbox.kafka_zookeeper_connect),
            *("--group", group.name, "--topic", topic),
        )
    finally:
        tools.close()
    rows = [line.split() for line in told.splitlines() if line.startswith(group.name)]
    owner = f"{query.membership.member}-0"
    assert rows == [[group.name, topic, str(p), "10", "13", "3", owner] for p in (0, 1)]


@pytest.mark.long
@pytest.mark.parametrize("version", ["0.8.2.2", "1.1.1"])
def test_old_consumers_that_commit_to_both(new_scene: NewScene, version: str) -> None:
    scene = new_scene(Setup(version))
    scene.produce()
    jvm = scene.join_jvm(offsets_storage="kafka")
    scene.settle("the JVM member comes first")
    ours = scene.join(storage="kafka")
    scene.settle("we come")
    scene.end_jvm(jvm)
    scene.settle("the JVM member leaves")
    scene.join_jvm(offsets_storage="kafka")
    scene.settle("it comes back")
    scene.leave(ours)
    scene.settle("we leave")
    scene.finish()


def test_old_consumers_that_commit_to_kafka_alone(new_scene: NewScene) -> None:
    alone = {"offsets_storage": "kafka", "dual_commit_enabled": "false"}
    scene = new_scene(Setup("1.1.1"))
    scene.produce()
    jvm = scene.join_jvm(**alone)
    scene.until(lambda: len(jvm.rows) > 100, "the JVM member to read")
    scene.end_jvm(jvm)
    ours = scene.join(storage="kafka", dual="false")
    scene.until(lambda: len(ours.rows) > 100, "our member to read")
    scene.leave(ours)
    scene.join_jvm(**alone)
    scene.until(lambda: len(scene.jvms[0].rows) > 100, "the JVM member to read on")
    scene.finish()
