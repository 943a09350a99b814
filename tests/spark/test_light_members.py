"""Drivers that know no ZooKeeper, and processes of `zkgroup coordinator --listen`, killed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.protocols.coordinator.rules.candidacy import parse_candidacy
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from tests.harness.waiting import wait_until
from tests.spark.scene import PATIENCE_S, Scene
from zkgroup_sandbox.ports import free_ports

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 12
COORDINATOR = "/consumers/coordinator"
PROGRAM = "from pyspark_zkgroup.cli.main import main; main()"


class Coordinators:
    def __init__(self, scene: Scene, token: Path) -> None:
        self.scene = scene
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        for port in free_ports(2):
            address = f"127.0.0.1:{port}"
            given = ["--zookeeper", scene.connect, "--name", address, "--listen", address]
            given += ["--token-file", str(token), "--session-timeout-ms", "2000"]
            self.running[address] = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "coordinator", *given]
            )
        self.addresses = ",".join(self.running)

    def in_office(self) -> str:
        with contextlib.suppress(NoNodeError):
            name = parse_candidacy(COORDINATOR, self.scene.client.get(COORDINATOR)[0]).name
            return name if name in self.running else ""
        return ""

    def kill(self) -> None:
        name = wait_until(self.in_office, PATIENCE_S, "an election")
        process = self.running.pop(name)
        process.kill()
        process.wait(20)

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait(20)


@pytest.fixture
def coordinators(scene: Scene, tmp_path: Path) -> Iterator[Coordinators]:
    token = tmp_path / "token"
    token.write_text(f"{COORDINATOR_TOKEN}\n")
    token.chmod(0o600)
    made = Coordinators(scene, token)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("scene", ["sandbox"], indirect=True)
def test_a_coordinator_and_a_driver_are_killed(scene: Scene, coordinators: Coordinators) -> None:
    wait_until(coordinators.in_office, PATIENCE_S, "an election")
    topic = scene.topic(PARTITIONS)
    options = {
        "protocol": "light",
        "coordinator.addresses": coordinators.addresses,
        "coordinator.token": COORDINATOR_TOKEN,
        "kafka.bootstrap.servers": scene.sandbox.bootstrap_servers,
        "session.timeout.ms": "6000",
    }
    members = [scene.member(name, topic, "0", **options) for name in "ab"]
    scene.begin_producing(topic, 1000)
    for member, driver in zip(members, scene.lease(2), strict=True):
        member.start(driver)
    scene.wait_shares(topic, {"a": 6, "b": 6}, "two members to share")
    before = {p: owner.life for p, owner in scene.owners(topic).items()}
    coordinators.kill()
    wait_until(coordinators.in_office, PATIENCE_S, "another election")
    batches = [max(member.logged(), default=-1) for member in members]
    wait_until(
        lambda: all(
            max(member.logged(), default=-1) > batch + 3
            for member, batch in zip(members, batches, strict=True)
        ),
        PATIENCE_S,
        "both to continue",
    )
    assert {p: owner.life for p, owner in scene.owners(topic).items()} == before
    killed, left = members
    killed.on.kill()
    scene.wait_shares(topic, {"b": 12}, "the other one to have all")
    scene.end_producing()
    verdict = scene.wait_all_delivered()
    left.on.sigterm()
    assert left.on.wait_ended()["error"] == ""
    assert not verdict.unknown
    planned = {
        (r.partition.topic, r.partition.partition): r.range for r in killed.last_planned()[1].ranges
    }
    assert all(
        planned[t, p].start <= offset < planned[t, p].until for t, p, offset in verdict.duplicates
    )
