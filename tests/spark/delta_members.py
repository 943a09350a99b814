"""Starting members that write into one Delta table, and giving them orders (delta_member.py)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark_zkgroup.delta.jars import delta_jars
from pyspark_zkgroup.delta.planned import ranges_in
from tests.harness.delta_table import records
from tests.harness.oracle import Record, Verdict, judge
from tests.harness.waiting import wait_until
from tests.spark.processes import family, send
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.spark_jobs import SparkJobs
from zkgroup_sandbox.produce import produce

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240.0


class Member:
    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory, self.environment = directory, environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.delta_member", str(self.directory)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text("utf-8", errors="replace")

    def events(self, word: str) -> list[str]:
        path = self.directory / "events"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(word)]

    def wait_event(self, word: str, times: int = 1) -> list[str]:
        def happened() -> list[str]:
            found = self.events(word)
            return found if len(found) >= times else []

        return wait_until(happened, PATIENCE_S, f"{times} x {word!r} of {self.directory.name}")

    def planned(self) -> set[Record]:
        """What the batch under way is to hold, by Spark's offset log."""
        logs = self.directory / "checkpoint" / "offsets"
        last = max((path for path in logs.iterdir() if path.name.isdigit()), key=_number)
        return {
            (of.topic, of.partition, offset)
            for of, r in ranges_in(last.read_text("utf-8"), str(last)).items()
            for offset in range(r.start, r.until)
        }

    def order(self, name: str, text: str = "") -> None:
        partial = self.directory / f"{name}.part"
        partial.write_text(text, "utf-8")
        partial.replace(self.directory / name)

    def revoke(self, name: str) -> None:
        (self.directory / name).unlink()

    def signal(self, number: int) -> None:
        """All its processes; looked for twice, since one may be made while others are stopped."""
        assert self.process is not None
        for _ in range(2):
            send(family(self.process.pid), number)

    @property
    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def close(self) -> None:
        if not self.ended:
            assert self.process is not None
            self.signal(signal.SIGSTOP)
            self.signal(signal.SIGKILL)
            self.process.wait()


def _number(path: Path) -> int:
    return int(path.name)


class DeltaScene:
    """A topic, a table, and the members that carry the one into the other."""

    def __init__(self, sandbox: Sandbox, directory: Path, partitions: int) -> None:
        self.sandbox, self.directory = sandbox, directory
        self.topic = f"d{uuid.uuid4().hex[:8]}"
        sandbox.create_topic(self.topic, partitions)
        self.jobs = SparkJobs(directory, "", None, "", "", tuple(delta_jars(print)))
        self.table, self.bad_table = directory / "table", directory / "bad"
        self.members: list[Member] = []
        self.produced: list[Record] = []

    def member(self, name: str, *, schema: str = "", **options: str) -> Member:
        """With a schema that has the column `corrupt`, bad rows go to a second table."""
        directory = self.directory / name
        directory.mkdir()
        told = {
            "options": {
                "zookeeper.connect": self.sandbox.kafka_zookeeper_connect,
                "zookeeper.session.timeout.ms": "4000",
                "group.id": f"g{self.topic}",
                "subscribe": self.topic,
                "threads": "2",
                "startingOffsets": "earliest",
                **options,
            },
            "table": str(self.table),
            "checkpoint": str(directory / "checkpoint"),
        }
        if schema:
            told |= {"schema": schema, "bad_table": str(self.bad_table)}
        (directory / "member.json").write_text(json.dumps(told), "utf-8")
        environment = {**self.jobs.environment(cores=1), "PYTHONPATH": str(ROOT)}
        made = Member(directory, environment)
        self.members.append(made)
        return made

    def produce(self, count: int, **given: Any) -> None:
        first, servers = len(self.produced), self.sandbox.bootstrap_servers
        self.produced += produce(servers, self.topic, count, first=first, **given).offsets()

    def verdict(self) -> Verdict:
        there = [one for one in (self.table, self.bad_table) if (one / "_delta_log").exists()]
        return judge(self.produced, [row for table in there for row in records(table)])

    def wait_complete(self) -> Verdict:
        """Until the table holds all that was produced; it must never hold anything twice."""

        def complete() -> Verdict | None:
            found = self.verdict()
            return None if found.missing else found

        found = wait_until(complete, PATIENCE_S, "the table to hold all", interval_s=0.5)
        assert found is not None
        assert found.exactly_once, str(found)
        return found


@contextmanager
def delta_scene(sandbox: Sandbox, directory: Path, partitions: int = 4) -> Iterator[DeltaScene]:
    scene = DeltaScene(sandbox, directory, partitions)
    try:
        yield scene
    finally:
        for member in scene.members:
            member.close()
