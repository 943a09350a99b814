"""Drivers of one group whose members follow a coordinator, which one of the drivers runs."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.protocols.coordinator.rules.candidacy import parse_candidacy
from tests.harness.waiting import wait_until
from tests.spark.scene import PATIENCE_S, Scene

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 12
COORDINATOR = "/consumers/coordinator"


@pytest.mark.parametrize("scene", ["sandbox", "sandbox_41"], indirect=True)
def test_the_driver_of_the_coordinator_is_killed(scene: Scene) -> None:
    topic = scene.topic(PARTITIONS)
    options = {
        "protocol": "coordinator",
        "threads": "2",
        "zookeeper.session.timeout.ms": "4000",
        "metadata.refresh.ms": "1000",
    }
    members = [scene.member(name, topic, "0", **options) for name in "abc"]
    scene.begin_producing(topic, 1000)
    for member, driver in zip(members[:2], scene.lease(2), strict=True):
        member.start(driver)
    scene.wait_shares(topic, {"a": 6, "b": 6}, "two members to share")

    def coordinator() -> str:
        return parse_candidacy(COORDINATOR, scene.client.get(COORDINATOR)[0]).name

    names = {member.consumer: member for member in members[:2]}
    killed = names[coordinator()]
    (left,) = (member for member in members[:2] if member is not killed)
    killed.on.kill()
    scene.wait_shares(topic, {left.name: 12}, "the other one to be elected and to have all")
    wait_until(lambda: coordinator() == left.consumer, PATIENCE_S, "the other one in office")
    (third,) = scene.lease(1)
    members[2].start(third)
    scene.wait_shares(topic, {left.name: 6, "c": 6}, "a third to join")
    scene.end_producing()
    verdict = scene.wait_all_delivered()
    for member in (left, members[2]):
        member.on.sigterm()
    for member in (left, members[2]):
        assert member.on.wait_ended()["error"] == ""
    assert not verdict.unknown
    planned = {
        (r.partition.topic, r.partition.partition): r.range for r in killed.last_planned()[1].ranges
    }
    assert all(
        planned[t, p].start <= offset < planned[t, p].until for t, p, offset in verdict.duplicates
    )
    assert not scene.client.exists(COORDINATOR)
