"""A real Spark query and a JVM member in one group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.oracle import Record, Verdict, judge
from tests.harness.waiting import wait_until
from tests.interop.old_consumer import OldConsumer, in_hand
from tests.interop.old_tools import OldTools
from tests.spark.drivers import Driver, Drivers
from tests.spark.scene import Scene, scene_on
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.interop, pytest.mark.spark]

PARTITIONS = 12
PER_SECOND = 600
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    pool = Drivers(tmp_path_factory.mktemp("drivers"))
    yield pool
    pool.close()


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path, drivers: Drivers) -> Iterator[Scene]:
    with scene_on(sandbox, tmp_path, drivers) as made:
        yield made


class Group:
    """The scene's group with its JVM members."""

    def __init__(self, scene: Scene, topic: str, tools: OldTools, directory: Path) -> None:
        self.scene, self.topic, self.tools, self.directory = scene, topic, tools, directory
        self.jvms: list[OldConsumer] = []

    def join_jvm(self, version: str) -> OldConsumer:
        properties = {
            "zookeeper.connect": self.scene.connect,
            "group.id": self.scene.group,
            "zookeeper.session.timeout.ms": "3000",
            "auto.offset.reset": "smallest",
            "auto.commit.interval.ms": "1000",
        }
        log = self.directory / f"jvm-{len(self.jvms)}.log"
        self.jvms.append(OldConsumer(version, ("static", {self.topic: 2}), properties, log))
        return self.jvms[-1]

    def owners(self) -> Mapping[TopicPartition, str]:
        return {p: owner.thread_id for p, owner in self.scene.owners(self.topic).items()}

    def offsets(self) -> Mapping[TopicPartition, int]:
        return {TopicPartition(self.topic, p): o for p, o in self.scene.offsets(self.topic).items()}

    def wait_settled(self, shares: Mapping[str, int], why: str) -> None:
        """Until each consumer has its share, and Kafka's tools and Spark's progress say so."""

        def settled() -> bool:
            owned = [text.rpartition("-")[0] for text in self.owners().values()]
            assert {c: owned.count(c) for c in {*owned}} == dict(shares), owned
            self.tools.assert_agree(self.scene.connect, self.scene.group, self.owners, self.offsets)
            return True

        wait_until(settled, PATIENCE_S, why)
        print(f"Spark and {self.jvms[-1] if self.jvms else 'no JVM'}: {why}: {dict(shares)}")

    def verdict(self) -> Verdict:
        return judge(self.scene.acknowledged(), self.delivered())

    def delivered(self) -> Iterator[Record]:
        yield from self.scene.delivered()
        for jvm in self.jvms:
            yield from list(jvm.rows)

    def wait_all_read(self) -> Verdict:
        def complete() -> Verdict:
            verdict = self.verdict()
            assert not verdict.missing, str(verdict)
            return verdict

        return wait_until(complete, PATIENCE_S, "everything to be read", interval_s=0.2)

    def close(self) -> None:
        for jvm in self.jvms:
            jvm.close()


@pytest.fixture
def group(scene: Scene, old_tools: OldTools, tmp_path: Path) -> Iterator[Group]:
    made = Group(scene, scene.topic(PARTITIONS), old_tools, tmp_path)
    try:
        yield made
    finally:
        made.close()


def said(driver: Driver) -> tuple[int, int, dict[str, str]]:
    """Members, held and waiting in the newest progress."""
    text = driver.progress[-1]["sources"][0]["latestOffset"]
    reported = json.loads(text) if isinstance(text, str) else text
    return reported["members"], reported["held"], reported["waiting"]


@pytest.mark.long
def test_they_share_hand_over_and_miss_nothing(group: Group) -> None:
    scene, topic = group.scene, group.topic
    (driver,) = scene.lease(1)
    scene.begin_producing(topic, PER_SECOND)
    query = scene.member("query", topic)
    query.start(driver)
    wait_until(lambda: query.consumer, PATIENCE_S, "the query to report itself")
    group.wait_settled({query.consumer: 12}, "Spark alone")

    jvm = group.join_jvm("1.1.1")
    wait_until(lambda: jvm.is_ready, PATIENCE_S, f"{jvm} to be ready")
    group.wait_settled({query.consumer: 6, jvm.id: 6}, "a JVM member joins")
    wait_until(lambda: said(driver) == (2, 6, {}), PATIENCE_S, "Spark's progress to say so")

    jvm.terminate()
    group.wait_settled({query.consumer: 12}, "it leaves")
    jvm = group.join_jvm("0.8.2.2")
    wait_until(lambda: jvm.is_ready, PATIENCE_S, f"{jvm} to be ready")
    group.wait_settled({query.consumer: 6, jvm.id: 6}, "one of 0.8.2.2 joins")
    driver.sigterm()
    assert driver.wait_ended()["error"] == ""
    group.wait_settled({jvm.id: 12}, "the query is stopped by SIGTERM")

    scene.end_producing()
    verdict = group.wait_all_read()
    twice = in_hand(group.jvms)
    print(f"Spark and JVM members: {verdict}, {len(twice)} in the hands of a JVM at a rebalance")
    assert not verdict.missing, str(verdict)
    assert not verdict.unknown, str(verdict)
    assert verdict.duplicates.keys() <= twice, str(verdict)
