"""`describe`, `lag` and `offsets reset` tell the truth of a group of JVM and zkgroup members, at
every moment of joins, crashes and leaves: each row is what a direct read finds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from tests.harness.group import Group, group_of, settle
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until
from tests.interop.old_consumer import OldConsumer
from tests.interop.truth import Call, Watch, watched, zkgroup
from tests.interop.witness import Witness
from tests.spark.drivers import Drivers
from tests.spark.scene import Scene, scene_on
from zkgroup_sandbox import Sandbox

pytestmark = pytest.mark.interop

# Few: their nodes are read one after the other. Those of many are read in one request.
FEW, MANY = 6, 12
PER_SECOND = 300
PATIENCE_S = 30.0
SPARK_PATIENCE_S = 90.0


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[Group]:
    with group_of(sandbox) as made:
        yield made


@pytest.fixture
def spark(
    sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    drivers = Drivers(tmp_path_factory.mktemp("drivers"))
    try:
        with scene_on(sandbox, tmp_path, drivers) as made:
            yield made
    finally:
        drivers.close()


def join_jvm(
    connect: str, group: str, topic: str, log: Path, version: str = "1.1.1"
) -> OldConsumer:
    properties = {
        "zookeeper.connect": connect,
        "group.id": group,
        "zookeeper.session.timeout.ms": "3000",
        "auto.offset.reset": "smallest",
        "auto.commit.interval.ms": "500",
    }
    return OldConsumer(version, ("static", {topic: 1}), properties, log)


def asked_of_a_process(connect: str, group: str) -> Call:
    """As it is started from a shell."""
    began = time.monotonic()
    done = subprocess.run(
        [Path(sys.executable).parent / "zkgroup", "describe", group, "--json"],
        env={**os.environ, "ZKGROUP_ZOOKEEPER": connect},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return Call("describe", began, time.monotonic(), json.loads(done.stdout))


def assert_true(watch: Watch, what: str, *others: Call) -> None:
    print(f"{what}: {watch}")
    watch.calls += others
    assert not watch.failures, watch.failures
    untrue = watch.untrue()
    assert not untrue, f"{len(untrue)} are untrue: {untrue[:5]}"


def test_each_row_is_true_through_joins_a_crash_and_leaves(group: Group, tmp_path: Path) -> None:
    topic, connect = group.topic(FEW), group._connect()
    first = group.query(topic, threads="1")
    group.produce(topic, 10)
    settle(first)
    members: list[Query] = [first]

    def until_owned(shares: Mapping[str, int], what: str) -> None:
        """Wait until it is also read to the end, by any member."""
        group.produce(topic, 7)

        def owned() -> bool:
            for query in members:
                query.trigger()
            owners = Counter(text.rpartition("-")[0] for text in group.owners(topic).values())
            assert owners == shares, f"owned {owners}"
            assert set(group.offsets(topic).values()) == {b"%d" % ends()}, group.offsets(topic)
            return True

        wait_until(owned, PATIENCE_S, what, interval_s=0.0)

    def ends() -> int:
        ((until,),) = {
            tuple(until for _, until in ranges[-1:])
            for ranges in group.produced[topic].ranges.values()
        }
        return until

    witness = Witness(connect, group.sandbox.bootstrap_servers, group.name, {topic: FEW})
    with watched(connect, witness) as watch:
        jvm = join_jvm(connect, group.name, topic, tmp_path / "jvm.log")
        try:
            wait_until(lambda: [q.trigger() for q in members] and jvm.is_ready, PATIENCE_S, "JVM")
            until_owned({first.membership.member: 3, jvm.id: 3}, "a JVM member to join")
            assert_reset_is_refused(group, topic)
            second = group.query(topic, threads="1")
            members.append(second)
            until_owned(
                {first.membership.member: 2, second.membership.member: 2, jvm.id: 2},
                "one more of ours to join",
            )
            from_shell = asked_of_a_process(connect, group.name)
            jvm.kill()
            until_owned(
                {first.membership.member: 3, second.membership.member: 3},
                "the share of a JVM member that was killed",
            )
            second.crash()
            members.remove(second)
            until_owned({first.membership.member: 6}, "the share of our member that was killed")
            first.stop()
            watch.wait_more(4)
        finally:
            jvm.close()
    assert_true(watch, "JVM and zkgroup members", from_shell)
    seen = {len(call.told["members"]) for call in watch.calls if call.command == "describe"}
    assert seen == {0, 1, 2, 3}
    assert_reset_is_true(connect, group.client, group.name, topic, tmp_path)
    assert set(group.offsets(topic).values()) == {b"%d" % ends()}


@pytest.mark.long
@pytest.mark.spark
def test_each_row_agrees_with_spark(spark: Scene, tmp_path: Path) -> None:
    """Records come all the while, and the members are a Spark query and JVM members of two
    versions.
    """
    topic, connect, name = spark.topic(MANY), spark.connect, spark.group
    (driver,) = spark.lease(1)
    spark.begin_producing(topic, PER_SECOND)
    query = spark.member("query", topic)
    query.start(driver)
    wait_until(lambda: query.consumer, SPARK_PATIENCE_S, "the query to report itself")

    def until_owned(shares: Mapping[str, int], what: str) -> None:
        def owned() -> bool:
            owners = Counter(owner.consumer for owner in spark.owners(topic).values())
            assert owners == shares, f"owned {owners}"
            return True

        wait_until(owned, SPARK_PATIENCE_S, what)

    until_owned({query.consumer: MANY}, "Spark alone")
    jvms: list[OldConsumer] = []
    witness = Witness(connect, spark.sandbox.bootstrap_servers, name, {topic: MANY})
    with watched(connect, witness) as watch:
        try:
            for version in ("1.1.1", "0.8.2.2"):
                log = tmp_path / f"jvm-{version}.log"
                jvms.append(jvm := join_jvm(connect, name, topic, log, version))
                wait_until(lambda j=jvm: j.is_ready, SPARK_PATIENCE_S, f"{jvm}")  # type: ignore[misc]
                # Its one thread, in addition to the query's two.
                until_owned({query.consumer: 8, jvm.id: 4}, f"{jvm} to join")
                watch.wait_more(10)
                if version == "1.1.1":
                    jvm.kill()
                    until_owned({query.consumer: MANY}, "the share of the JVM member killed")
            driver.sigterm()
            assert driver.wait_ended()["error"] == ""
            until_owned({jvm.id: MANY}, "the share of the query, which has left")
            from_shell = asked_of_a_process(connect, name)
            spark.end_producing()
            jvm.terminate()
            watch.wait_more(4)
        finally:
            for jvm in jvms:
                jvm.close()
    assert_true(watch, "Spark and JVM members", from_shell)
    assert_reset_is_true(connect, spark.client, name, topic, tmp_path)


def assert_reset_is_refused(group: Group, topic: str) -> None:
    before = group.offsets(topic)
    result = zkgroup(group._connect(), "offsets", "reset", group.name, "--to-earliest", "--execute")
    assert result.exit_code == 1
    assert f"Group {group.name!r} has 2 live members" in result.stderr
    assert all(int(group.offsets(topic)[p]) >= int(offset) for p, offset in before.items())


def assert_reset_is_true(
    connect: str, client: KazooClient, group: str, topic: str, directory: Path
) -> None:
    """It shows what ZooKeeper has, before and after."""
    path = f"/consumers/{group}/offsets/{topic}"

    def offsets() -> dict[int, int]:
        return {int(p): int(client.get(f"{path}/{p}")[0]) for p in client.get_children(path)}

    for where in (("--shift-by", "-5"), ("--to-latest",)):
        before = offsets()
        undo = directory / f"undo{where[0]}.json"
        arguments = (*where, "--undo", str(undo), "--execute", "--json")
        result = zkgroup(connect, "offsets", "reset", group, *arguments)
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert {move["partition"]: move["before"] for move in told} == before
        assert {move["partition"]: move["after"] for move in told} == offsets()
        if where[0] == "--shift-by":
            assert offsets() == {p: offset - 5 for p, offset in before.items()}
