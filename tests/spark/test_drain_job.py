"""jobs/drain.py as a user runs it: by Python and submitted, to its end and until SIGTERM."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyspark_zkgroup.demo.driver import Driver
from pyspark_zkgroup.demo.spark_jobs import JOBS, SparkJobs
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.sandbox import Sandbox
from pyspark_zkgroup.sandbox.delta_jars import delta_jars
from pyspark_zkgroup.sandbox.java import find_java
from pyspark_zkgroup.sandbox.ports import LOOPBACK, free_ports
from pyspark_zkgroup.sandbox.produce import Produced, produce
from pyspark_zkgroup.sandbox.sessions import session
from tests.delta_table import records
from tests.oracle import judge
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PARTITIONS = 3
DEADLINE_S = 280.0
DRAIN = JOBS / "drain.py"


@dataclass(frozen=True)
class Scene:
    sandbox: Sandbox
    jobs: SparkJobs
    produced: Produced

    def run(self, name: str, command: list[str], **environment: str) -> Driver:
        directory = self.jobs.directory
        return Driver(name, command, directory, {**self.jobs.environment(), **environment})

    def ended(self, driver: Driver) -> list[str]:
        try:
            wait_until(lambda: driver.status is not None, DEADLINE_S, f"{driver.name} to end")
        finally:
            driver.kill()
            print(*driver.lines(), sep="\n")
        return driver.lines("drain: ")

    def read_by(self, group: str) -> list[str]:
        """The job by plain Python, to its end."""
        return [
            *(sys.executable, str(DRAIN)),
            *("--zookeeper", self.jobs.zookeeper_connect),
            *("--group", group),
            *("--subscribe", self.jobs.topic),
            *("--table", str(self.jobs.table)),
            *("--checkpoint", str(self.jobs.directory / f"checkpoint-{group}")),
        ]

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


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> Scene:
    topic = f"drained-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, PARTITIONS)
    produced = produce(sandbox.bootstrap_servers, topic, 3_000)
    jobs = SparkJobs(
        directory=tmp_path,
        zookeeper_connect=sandbox.kafka_zookeeper_connect,
        bootstrap_servers=None,
        group=f"group-{topic}",
        topic=topic,
        jars=tuple(delta_jars(find_java(), print)),
    )
    return Scene(sandbox, jobs, produced)


def test_it_drains_by_python_and_submitted_and_the_table_holds_each_record_once(
    scene: Scene,
) -> None:
    # Without Delta's jars, as a user would run it.
    by_python = scene.run(
        "by-python", scene.read_by("by-python"), PYSPARK_SUBMIT_ARGS="pyspark-shell"
    )
    told = scene.ended(by_python)
    assert by_python.status == 0
    assert told[-1].startswith("drain: read 3000 rows in 1 batch in ")
    assert "lag 0 on 3 partitions of by-python_" in told[-1]
    assert scene.committed("by-python") == scene.produced.end_offsets
    assert scene.owners("by-python") == 0

    # Another group reads all of it again, for the same table.
    submitted = scene.run("submitted", scene.jobs.drain())
    told = scene.ended(submitted)
    assert submitted.status == 0
    assert told[-1].startswith("drain: read 3000 rows in 1 batch in ")
    assert judge(scene.produced.offsets(), records(scene.jobs.table)).exactly_once

    # The demo's own judge sees it when one row is taken away.
    path = scene.jobs.directory / "produced.json"
    path.write_text(json.dumps({"topic": scene.jobs.topic, "ranges": scene.produced.ranges}))
    verify = scene.run("verify", scene.jobs.verify(path, remove_one_row=True))
    scene.ended(verify)
    assert verify.lines("produced ") == ["produced 3000, in Delta 2999, missing 1, duplicates 0"]
    assert verify.status == 1


def test_sigterm_ends_it_with_all_that_was_read_committed(scene: Scene) -> None:
    command = [*scene.read_by("follower"), "--follow", "0", "--max-offsets", "300"]
    follower = scene.run("follower", command)
    try:
        wait_until(lambda: follower.lines("drain: batch "), DEADLINE_S, "the first batch")
        follower.leave()
    except BaseException:
        follower.kill()
        raise
    told = scene.ended(follower)
    assert follower.status == 0
    assert told[-1].startswith("drain: read ")
    committed = scene.committed("follower")
    found = records(scene.jobs.table)
    assert 300 <= len(found) == len(set(found)) == sum(committed.values())
    assert scene.owners("follower") == 0


def test_a_failure_is_one_line_and_status_1(scene: Scene) -> None:
    nowhere = f"{LOOPBACK}:{free_ports(1)[0]}"
    command = scene.read_by("nobody")
    command[command.index("--zookeeper") + 1] = nowhere
    failing = scene.run("failing", [*command, "--option", "zookeeper.connection.timeout.ms=500"])
    told = scene.ended(failing)
    assert failing.status == 1
    assert told[-1].startswith("drain: failed: ")
    assert f"[ZKG-002] ZooKeeper at {nowhere} did not answer within 500 ms" in told[-1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "the following arguments are required: --zookeeper, --group, --table, --checkpoint"),
        (["--group", "a/b"], "[ZKG-001] Option 'group.id' is 'a/b'"),
        (["--option", "trheads=2"], "[ZKG-001] Option 'trheads'"),
        (["--option", "threads"], "'threads' is not NAME=VALUE"),
        (["--follow", "-1"], "'-1' is not a number of seconds"),
        (["--subscribe-pattern", "a.*"], "not allowed with argument"),
    ],
)
def test_wrong_usage_is_told_before_spark_is_started(arguments: list[str], told: str) -> None:
    right = ["--zookeeper", "z", "--group", "g", "--table", "t", "--checkpoint", "c"]
    given = [*right, "--subscribe", "t", *arguments] if arguments else ["--subscribe", "t"]
    shown = subprocess.run(
        [sys.executable, str(DRAIN), *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert shown.returncode == 2
    assert told in " ".join(shown.stderr.split())


def test_its_help_names_every_argument() -> None:
    shown = subprocess.run(
        [sys.executable, str(DRAIN), "--help"], capture_output=True, text=True, check=True
    )
    for argument in ("--zookeeper", "--group", "--subscribe", "--table", "--checkpoint"):
        assert f"{argument} " in shown.stdout
