"""How the demo runs the jobs of the project's own jobs/ folder: commands and environment."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError

JOBS = Path(__file__).resolve().parents[3] / "jobs"
HEAP_MB = 640
# Of the systems we know, macOS allows the fewest; Spark names its sockets by a UUID.
SOCKET_PATH_CHARACTERS_MAX = 103
SOCKET_NAME_CHARACTERS = 44
# These drivers live for a minute or two: what the JVM spends on its better compiler they never get
# back, and there are several of them on a small machine.
JVM_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Djava.io.tmpdir={scratch}"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # A table of a few hundred files; by default Delta replays its log in 50 tasks.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.debug.maxToStringFields": "1000",
}


@dataclass(frozen=True)
class SparkJobs:
    """All that the jobs of one demo share."""

    directory: Path
    zookeeper_connect: str
    bootstrap_servers: str | None
    group: str
    topic: str
    jars: tuple[Path, ...]

    @property
    def table(self) -> Path:
        return self.directory / "table"

    def member(self, name: str, batch_rows_max: int, session_timeout_ms: int) -> list[str]:
        """A query that reads on until SIGTERM, run by plain Python: the signal is for Python."""
        return [
            sys.executable,
            str(_job("drain.py")),
            *self._reader(name),
            *("--follow", "1"),
            *("--max-offsets", str(batch_rows_max)),
            *("--option", f"member.id={name}"),
            *("--option", f"zookeeper.session.timeout.ms={session_timeout_ms}"),
        ]

    def drain(self) -> list[str]:
        """A job that ends by itself, submitted."""
        return self.submitted("drain.py", self._reader("drain"))

    def submitted(self, job: str, arguments: Sequence[str]) -> list[str]:
        return [str(_spark_submit()), *self._flags(cores=2), str(_job(job)), *arguments]

    def verify(self, produced: Path, *, remove_one_row: bool) -> list[str]:
        return [
            sys.executable,
            str(_job("verify.py")),
            *("--table", str(self.table)),
            *("--produced", str(produced)),
            *(["--remove-one-row"] if remove_one_row else []),
        ]

    def environment(self, *, cores: int = 1) -> dict[str, str]:
        self._scratch.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_CONF_DIR")}
        return {
            **kept,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": shlex.join([*self._flags(cores=cores), "pyspark-shell"]),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # What a killed driver leaves behind goes with the demo's own directory.
            "SPARK_LOCAL_DIRS": str(self._scratch),
            "TMPDIR": str(self._scratch),
        }

    @property
    def _scratch(self) -> Path:
        return self.directory / "scratch"

    def _reader(self, name: str) -> list[str]:
        brokers = self.bootstrap_servers
        return [
            *("--zookeeper", self.zookeeper_connect),
            *(["--bootstrap-servers", brokers] if brokers is not None else []),
            *("--group", self.group),
            *("--subscribe", self.topic),
            *("--threads", "2"),
            *("--table", str(self.table)),
            *("--checkpoint", str(self.directory / "checkpoints" / name)),
        ]

    def _flags(self, *, cores: int) -> list[str]:
        settings = {
            **SETTINGS,
            "spark.driver.extraJavaOptions": JVM_FLAGS.format(scratch=self._scratch),
            "spark.python.unix.domain.socket.dir": _place_for_sockets(self._scratch),
        }
        return [
            *("--master", f"local[{cores}]"),
            *("--driver-memory", f"{HEAP_MB}m"),
            *("--jars", ",".join(map(str, self.jars))),
            *(word for k, v in settings.items() for word in ("--conf", f"{k}={v}")),
        ]


def _job(name: str) -> Path:
    job = JOBS / name
    if not job.exists():
        raise SandboxError.of("demo_job_missing", job=job)
    return job


def _place_for_sockets(wanted: Path) -> str:
    """Where the user's own TMPDIR is too deep as well there is always the system's."""
    places = (str(wanted), tempfile.gettempdir())
    short = (p for p in places if len(p) + SOCKET_NAME_CHARACTERS < SOCKET_PATH_CHARACTERS_MAX)
    return next(short, "/tmp")


def _spark_submit() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SandboxError.of("demo_without_pyspark")
    return Path(found.origin).parent / "bin" / "spark-submit"
