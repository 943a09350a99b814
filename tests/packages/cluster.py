"""Spark's own cluster manager with two workers, all on this machine, and jobs submitted to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.harness.waiting import wait_until
from tests.packages.clean_python import CleanPython, bare_environment
from tests.spark.processes import family
from zkgroup_sandbox.demo.driver import Driver
from zkgroup_sandbox.ports import free_ports

WORKERS = 2
EXECUTOR_MB = 512
DEADLINE_S = 240.0
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    # No task before both workers have an executor.
    "spark.cores.max": str(WORKERS),
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}


@dataclass(frozen=True)
class Task:
    """A Python worker that runs tasks: by which command, where, and with which decoder if any."""

    python: str
    directory: Path
    decoder: Path | None

    @property
    def log(self) -> Path:
        """Of its executor."""
        return self.directory / "stderr"


class Cluster:
    """`node` is the Python of every machine of the cluster, and has its Spark."""

    def __init__(self, node: CleanPython, directory: Path) -> None:
        self.node = node
        self.directory = directory
        (self.port,) = free_ports(1)
        self.url = f"spark://127.0.0.1:{self.port}"
        self.running: list[Driver] = []

    def start(self) -> None:
        self.directory.mkdir(exist_ok=True)
        self._master()
        for n in range(WORKERS):
            self._worker(n)

    @property
    def spark_home(self) -> Path:
        return self.node.packages / "pyspark"

    def _master(self) -> None:
        given = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"]
        self._daemon("master", "master.Master", *given)
        wait_until(
            lambda: self._told("master", "I have been elected leader"), DEADLINE_S, "the master"
        )

    def _worker(self, n: int) -> None:
        given = ["--host", "127.0.0.1", "--cores", "1", "--memory", f"{EXECUTOR_MB}m"]
        given += ["--work-dir", str(self.work(n)), "--webui-port", "0", self.url]
        self._daemon(f"worker-{n}", "worker.Worker", *given)
        wait_until(
            lambda: self._told(f"worker-{n}", "Successfully registered"), DEADLINE_S, "a worker"
        )

    def work(self, n: int) -> Path:
        return self.directory / f"work-{n}"

    def _told(self, name: str, text: str) -> bool:
        return text in (self.directory / f"{name}.log").read_text("utf-8", "replace")

    def _daemon(self, name: str, program: str, *given: str) -> Driver:
        command = [
            str(self.spark_home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{program}",
        ]
        started = Driver(name, [*command, *given], self.directory, self._environment({}))
        self.running.append(started)
        return started

    def _environment(self, changes: Mapping[str, str]) -> dict[str, str]:
        home = str(self.spark_home)
        own = {"SPARK_HOME": home, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
        own |= {"SPARK_LOCAL_DIRS": str(self.directory / "scratch")}
        return bare_environment({**own, **changes})

    def submit(self, place: Path, given: Sequence[str], environment: Mapping[str, str]) -> Driver:
        """`given`: what spark-submit gets before the job, the job and its arguments. The job runs
        in `place`: Python looks for packages where it runs, and would find this checkout.
        """
        command = [str(self.spark_home / "bin" / "spark-submit"), "--master", self.url]
        command += ["--driver-memory", "512m", "--executor-memory", f"{EXECUTOR_MB}m"]
        command += [word for k, v in CONF.items() for word in ("--conf", f"{k}={v}")]
        there = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(place)]
        driver = Driver("job", [*there, *command, *given], place, self._environment(environment))
        self.running.append(driver)
        return driver

    def tasks(self) -> list[Task]:
        """The Python workers of all executors that live now."""
        places = [self.work(n) for n in range(WORKERS)]
        found = []
        for pid in family(os.getpid()):
            with suppress(OSError):
                place = Path(f"/proc/{pid}/cwd").readlink()
                command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                if "pyspark.daemon" in command and any(map(place.is_relative_to, places)):
                    found.append(Task(command[0], place, _decoder(pid)))
        return found

    def close(self) -> None:
        for driver in reversed(self.running):
            driver.kill()


def _decoder(pid: int) -> Path | None:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "/_decoder." in line:
            return Path(line.split(maxsplit=5)[5])
    return None


@contextmanager
def cluster_of(node: CleanPython, directory: Path) -> Iterator[Cluster]:
    made = Cluster(node, directory)
    try:
        made.start()
        yield made
    finally:
        made.close()
