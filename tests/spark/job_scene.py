"""What the tests of jobs share: a topic of known events, and the jobs as users run them."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark_zkgroup.delta.jars import delta_jars
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.driver import Driver
from zkgroup_sandbox.demo.spark_jobs import JOBS, SparkJobs
from zkgroup_sandbox.produce import Produced, produce
from zkgroup_sandbox.sessions import session

PARTITIONS = 3
EVENTS = 3_000
DEADLINE_S = 280.0


@dataclass(frozen=True)
class JobScene:
    sandbox: Sandbox
    jobs: SparkJobs
    produced: Produced

    def run(self, name: str, command: list[str], **environment: str) -> Driver:
        directory = self.jobs.directory
        return Driver(name, command, directory, {**self.jobs.environment(), **environment})

    def ended(self, driver: Driver, prefix: str = "drain: ") -> list[str]:
        try:
            wait_until(lambda: driver.status is not None, DEADLINE_S, f"{driver.name} to end")
        finally:
            driver.kill()
            print(*driver.lines(), sep="\n")
        return driver.lines(prefix)

    def by_python(self, job: str, *arguments: str) -> list[str]:
        return [sys.executable, str(JOBS / job), *self._servers(), *arguments]

    def submitted(self, job: str, *arguments: str, jars: Sequence[Path] = ()) -> list[str]:
        jobs = replace(self.jobs, jars=tuple(jars)) if jars else self.jobs
        return jobs.submitted(job, [*self._servers(), *arguments])

    def into(self, checkpoint: str) -> tuple[str, ...]:
        """The arguments of jobs that write the table."""
        place = self.jobs.directory / f"checkpoint-{checkpoint}"
        return ("--table", str(self.jobs.table), "--checkpoint", str(place))

    def _servers(self) -> list[str]:
        return ["--zookeeper", self.jobs.zookeeper_connect, "--subscribe", self.jobs.topic]

    def committed(self, group: str) -> dict[int, int]:
        paths = GroupPaths(group)
        with session(self.jobs.zookeeper_connect) as client:
            return {
                p: int(client.get(paths.offset(TopicPartition(self.jobs.topic, p)))[0])
                for p in range(PARTITIONS)
            }

    def owners(self, group: str) -> int:
        path = GroupPaths(group).owner_topic(self.jobs.topic)
        with session(self.jobs.zookeeper_connect) as client:
            return len(client.get_children(path))

    def groups(self) -> list[str]:
        with session(self.jobs.zookeeper_connect) as client:
            return sorted(client.get_children("/consumers")) if client.exists("/consumers") else []


def job_scene(sandbox: Sandbox, directory: Path) -> JobScene:
    topic = f"jobs-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, PARTITIONS)
    produced = produce(sandbox.bootstrap_servers, topic, EVENTS)
    jobs = SparkJobs(
        directory=directory,
        zookeeper_connect=sandbox.kafka_zookeeper_connect,
        bootstrap_servers=None,
        group=f"group-{topic}",
        topic=topic,
        jars=tuple(delta_jars(print)),
    )
    return JobScene(sandbox, jobs, produced)
