"""One reading of a topic on the cluster, by submitted.py, and what was seen of it."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.harness.oracle import Record
from tests.harness.waiting import wait_until
from tests.packages.cluster import Cluster, Task
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.driver import Driver
from zkgroup_sandbox.produce import Produced, produce

PROGRAM = str(Path(__file__).with_name("submitted.py"))
PARTITIONS, EVENTS = 4, 1_000
DEADLINE_S = 280.0


@dataclass(frozen=True)
class Reading:
    """`slow`: the executors that say that they lack the native decoder."""

    produced: Produced
    rows: list[Record]
    tasks: list[Task]
    slow: set[Path]
    error: str = ""
    package: str = ""


@dataclass(frozen=True)
class Topic:
    sandbox: Sandbox
    name: str = field(default_factory=lambda: f"packages-{uuid.uuid4().hex[:8]}")

    def produced(self) -> Produced:
        self.sandbox.create_topic(self.name, PARTITIONS)
        return produce(self.sandbox.bootstrap_servers, self.name, EVENTS)

    def options(self, checkpoint: Path) -> dict[str, str]:
        return {
            "zookeeper.connect": self.sandbox.kafka_zookeeper_connect,
            "group.id": self.name,
            "subscribe": self.name,
            "startingOffsets": "earliest",
            "checkpointLocation": str(checkpoint),
        }


def read_on(
    cluster: Cluster,
    sandbox: Sandbox,
    place: Path,
    given: Sequence[str],
    environment: Mapping[str, str],
    *,
    register: bool,
) -> Reading:
    topic = Topic(sandbox)
    produced = topic.produced()
    os.mkfifo(place / "go")
    plan = {
        "options": topic.options(place / "checkpoint"),
        "register": register,
        "directory": str(place),
    }
    (place / "plan.json").write_text(json.dumps(plan))
    job = cluster.submit(place, [*given, PROGRAM, str(place / "plan.json")], environment)
    try:
        report = reported(job, place)
        tasks = cluster.tasks()
        let_go(place / "go")
        wait_until(lambda: job.status is not None, DEADLINE_S, "the job to end")
    finally:
        job.kill()
    return Reading(
        produced,
        rows_of(place / "rows"),
        tasks,
        {task.log for task in tasks if "[ZKG-141]" in task.log.read_text("utf-8", "replace")},
        report.get("error", ""),
        report.get("package", ""),
    )


def reported(job: Driver, place: Path) -> dict[str, Any]:
    report = place / "report.json"
    wait_until(lambda: report.exists() or job.status is not None, DEADLINE_S, "the job's report")
    assert report.exists(), "\n".join(job.lines())
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def let_go(pipe: Path) -> None:
    """The job opens the pipe right after its report."""
    opened = wait_until(
        lambda: os.open(pipe, os.O_WRONLY | os.O_NONBLOCK) + 1, DEADLINE_S, "the job to wait"
    )
    os.close(opened - 1)


def rows_of(directory: Path) -> list[Record]:
    found: list[Record] = []
    for file in sorted(directory.glob("*.parquet")):
        if file.stat().st_size == 0:  # of a task that failed
            continue
        columns = pq.read_table(file, columns=["topic", "partition", "offset"]).to_pydict()
        found += zip(columns["topic"], columns["partition"], columns["offset"])
    return found
