"""What a running query tells of itself in Spark, by `progress`, and to Prometheus."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from tests.harness.waiting import wait_until
from tests.spark.scene import Scene

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_progress_of_a_member(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.begin_producing(topic, 200)
    member = scene.member("a", topic)
    (driver,) = scene.lease(1)
    member.start(driver)
    scene.wait_shares(topic, {"a": 4}, "the member to hold all")

    def asked() -> dict[str, Any]:
        answer = driver.ask()
        return answer if answer["progress"] and len(answer["rows"]) == 4 else {}

    answer = wait_until(asked, 60.0, "a progress with four partitions")
    found = answer["progress"]
    assert (found["group"], found["protocol"], found["members"]) == (scene.group, "zookeeper", 1)
    assert found["member"] == driver.member
    assert [p["partition"] for p in found["partitions"]] == [0, 1, 2, 3]
    for row in found["partitions"]:
        assert 0 <= row["start"] <= row["end"] <= row["latest"]
        assert row["lag"] == row["latest"] - row["end"]
    assert {(row["topic"], row["group"]) for row in answer["rows"]} == {(topic, scene.group)}

    label = f'group="{scene.group}"'
    url = f"http://127.0.0.1:{driver.serve_metrics()}/metrics"

    def served() -> str:
        with urllib.request.urlopen(url, timeout=10) as got:
            text: str = got.read().decode()
        return text if f"zkgroup_held_partitions{{{label}" in text else ""

    text = wait_until(served, 30.0, "metrics of the group")
    assert f'topic="{topic}",partition="3"}}' in text
    assert "zkgroup_lag_records" in driver.metrics_file.read_text()
    driver.sigterm()
    assert driver.wait_ended()["error"] == ""
