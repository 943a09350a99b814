"""One topic, one table, and members that write with `delta.ingest`, killed at chosen moments.

A moment is a change of a file that each batch makes on its way, so the members run as they always
do. They are those of the chaos run, and report each batch.
"""

from __future__ import annotations

import fcntl
import json
import re
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark_zkgroup.delta.lock import LOCK
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import decode
from tests.chaos.job import Job
from tests.chaos.process import Process
from tests.harness.waiting import wait_until
from tests.spark.file_events import CLOSED, CREATED, MODIFIED, MOVED_TO, FileEvents
from tests.spark.processes import ended, family, find_all_below, send
from zkgroup_sandbox import Sandbox

# A driver starts slowly where others use the cores. It only ends a test that hangs.
PATIENCE_S = 600.0
# The least that brokers allow.
SESSION_S = 6.0
PLANS, FILES, TABLE, LOG, COMMITS = "plans", "files", "table", "log", "commits"
WORKER_MODULE = "pyspark.daemon"


@dataclass(frozen=True)
class Moment:
    """The first such event in one of the directories of `place`."""

    name: str
    place: str
    mask: int
    file: re.Pattern[str]


MOMENTS = {
    one.name: one
    for one in (
        Moment("batch planned", PLANS, MOVED_TO, re.compile(r"\d+")),
        Moment("file begun", FILES, CREATED, re.compile(r".*\.parquet")),
        Moment("file written", FILES, CLOSED, re.compile(r".*\.parquet")),
        Moment("before the commit", TABLE, MODIFIED, re.compile(LOCK)),
        # delta-rs writes a commit under such a name, and then links it.
        Moment("within the commit", LOG, CREATED, re.compile(r"\d{20}\.json#\d+")),
        Moment("committed", LOG, CREATED | MOVED_TO, re.compile(r"\d{20}\.json")),
        Moment("logged by Spark", COMMITS, MOVED_TO, re.compile(r"\d+")),
    )
}


class KillScene:
    def __init__(self, sandbox: Sandbox, directory: Path, topic: str) -> None:
        self.sandbox, self.directory, self.topic = sandbox, directory, topic
        self.table = directory / "table"
        self.events = FileEvents()
        self.members: list[Process] = []
        self.passed = False

    def member(self, name: str) -> Process:
        """`member.id` lets it in again at once after it was killed."""
        home = self.directory / name
        options = {
            "protocol": "kafka",
            "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
            "session.timeout.ms": str(int(SESSION_S * 1000)),
            "heartbeat.interval.ms": "500",
            "member.id": name,
            "group.id": f"kills-{self.topic}",
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "5000",
            "threads": "1",
            "checkpointLocation": str(home / "checkpoint"),
        }
        job = Job(name, home, self.table, options, trigger_s=0, direct=True, cores=2)
        made = Process(job, [])
        self.members.append(made)
        return made

    # -- moments

    def places(
        self, member: Process, partitions: Collection[TopicPartition] | None = None
    ) -> dict[str, set[Path]]:
        """Where a batch of this member shows itself, with files of these partitions alone."""
        files = {
            path
            for path in self.table.glob("topic=*/partition=*")
            if partitions is None
            or TopicPartition(self.topic, int(path.name.partition("=")[2])) in partitions
        }
        return {
            PLANS: {member.job.checkpoint / "offsets"},
            FILES: files,
            TABLE: {self.table},
            LOG: {self.table / "_delta_log"},
            COMMITS: {member.job.checkpoint / "commits"},
        }

    def watch(self, member: Process, partitions: int) -> None:
        """Once its first batches have made all directories."""

        def made() -> bool:
            places = self.places(member)
            there = all(path.is_dir() for some in places.values() for path in some)
            return there and len(places[FILES]) == partitions and self.logged(member) > 0

        wait_until(made, PATIENCE_S, f"the first batches of {member.name}")
        for some in self.places(member).values():
            for path in some:
                self.events.watch(path)

    def wait(self, moment: Moment, places: dict[str, set[Path]], times: int = 1) -> None:
        for _ in range(times):
            self.events.wait(places[moment.place], moment.mask, moment.file, PATIENCE_S)

    # -- what a member has done so far

    def plan(self, member: Process) -> dict[TopicPartition, tuple[int, int]]:
        """The newest one; empty where there is none."""
        number = _newest(member.job.checkpoint / "offsets")
        if number < 0:
            return {}
        text = (member.job.checkpoint / "offsets" / str(number)).read_text("utf-8")
        ranges = decode(json.loads(text.splitlines()[2])).ranges
        return {r.partition: (r.range.start, r.range.until) for r in ranges}

    def logged(self, member: Process) -> int:
        return _newest(member.job.checkpoint / "commits")

    def left_behind(self, member: Process) -> str:
        """How far its newest batch is. No other member may run."""
        checkpoint = member.job.checkpoint
        number = _newest(checkpoint / "offsets")
        if self.logged(member) >= number:
            return "the batch is in Spark's log"
        planned = (checkpoint / "offsets" / str(number)).stat().st_mtime_ns
        if any(_since(planned, (self.table / "_delta_log").glob("*.json"))):
            return "the batch is in the table, not in Spark's log"
        if any(_since(planned, self.table.glob("topic=*/partition=*/*.parquet"))):
            return "files are written, not in the table"
        return "the batch is planned, no file is written"

    def died(self) -> list[str]:
        """What queries have ended with."""
        return [e["error"] for m in self.members for e in m.look() if e["event"] == "died"]

    def log_of(self, member: Process) -> str:
        return member.job.log.read_text("utf-8", errors="replace")

    # -- kills

    def wait_runs(self, member: Process, killed: Collection[int] = ()) -> int:
        """Return its planner's process id, once a query runs."""

        def planner() -> int:
            assert member.alive, f"the driver has ended: {member.job.log}"
            found = member.planner if member.last("started") else 0
            return 0 if found in killed else found

        found = wait_until(planner, PATIENCE_S, f"the planner of {member.name}", interval_s=0.02)
        assert found
        return found

    def kill_driver(
        self, member: Process, moment: Moment, places: dict[str, set[Path]], times: int
    ) -> str:
        """Both its processes and all below them; return what it has left behind."""
        self.wait_runs(member)
        pids = family(_pid(member))
        self.events.forget()
        self.wait(moment, places, times)
        all_ended = ended(pids)
        send(pids, signal.SIGKILL)
        member.kill()
        wait_until(all_ended, PATIENCE_S, "all processes to end")
        return self.left_behind(member)

    def kill_planner(
        self,
        member: Process,
        moment: Moment,
        places: dict[str, set[Path]],
        times: int,
        killed: set[int],
    ) -> None:
        planner = self.wait_runs(member, killed)
        self.events.forget()
        self.wait(moment, places, times)
        send([planner], signal.SIGKILL)
        killed.add(planner)

    def kill_workers(
        self, member: Process, moment: Moment, places: dict[str, set[Path]], times: int
    ) -> int:
        """Return how many there were."""
        self.wait_runs(member)
        self.events.forget()
        self.wait(moment, places, times)
        daemons_and_workers = find_all_below(member.jvm, WORKER_MODULE)
        # Daemons fork workers.
        workers = {pid for one in daemons_and_workers for pid in family(one)[1:]}
        send(workers, signal.SIGKILL)
        return len(workers)

    # -- the table's lock

    def is_locked(self) -> bool:
        with (self.table / LOCK).open("a+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def close(self) -> None:
        for member in self.members:
            member.resume()
            member.close()
        self.events.close()


def appended(member: Process) -> list[dict[str, Any]]:
    return [e for e in member.look() if e["event"] == "appended"]


def _pid(member: Process) -> int:
    ready = member.last("ready")
    assert ready is not None
    return int(ready["python"])


def _newest(directory: Path) -> int:
    return max((int(path.name) for path in directory.glob("[0-9]*")), default=-1)


def _since(nanoseconds: int, paths: Iterator[Path]) -> Iterator[Path]:
    return (path for path in paths if path.stat().st_mtime_ns > nanoseconds)


@contextmanager
def kill_scene(sandbox: Sandbox, directory: Path, topic: str) -> Iterator[KillScene]:
    scene = KillScene(sandbox, directory, topic)
    try:
        yield scene
    finally:
        scene.close()
