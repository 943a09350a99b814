"""Real queries that are drained, let back in and stopped by the command line, under load."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.main import main
from tests.spark.scene import Scene

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PARTITIONS = 12
PER_SECOND = 500


def told(scene: Scene, *arguments: str) -> list[dict[str, Any]]:
    environment = {"ZKGROUP_ZOOKEEPER": scene.connect}
    result = CliRunner().invoke(main, [*arguments, "--timeout", "90", "--json"], env=environment)
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.mark.long
def test_queries_follow_the_command_line_and_nothing_comes_twice(scene: Scene) -> None:
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = (scene.member(name, topic) for name in "ab")
    for member, driver in zip((a, b), scene.lease(2), strict=True):
        member.start(driver)
    scene.wait_shares(topic, {"a": 6, "b": 6}, "two members to share")
    leaver = a.consumer
    (drained,) = told(scene, "members", "drain", scene.group, leaver)
    assert drained["state"] == "drained"
    scene.wait_shares(topic, {"b": 12}, "b to have all")
    environment = {"ZKGROUP_ZOOKEEPER": scene.connect}
    back = CliRunner().invoke(main, ["members", "resume", scene.group, leaver], env=environment)
    assert back.exit_code == 0, back.output
    scene.wait_shares(topic, {"a": 6, "b": 6}, "a to be back")
    scene.end_producing()
    scene.wait_all_delivered()
    ended = told(scene, "stop", scene.group, "--all", "--yes")
    assert [one["state"] for one in ended] == ["ended", "ended"]
    # The drivers received the request, and have stopped their queries themselves.
    for member in (a, b):
        assert member.on.wait_ended()["error"] == ""
    assert scene.offsets(topic) == scene.ends(topic)
    verdict = scene.verdict()
    assert not verdict.missing, str(verdict)
    assert not verdict.duplicates, str(verdict)
