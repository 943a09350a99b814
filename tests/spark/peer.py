"""Spark's own Kafka source as the measure of ours: the same ranges through both, row by row."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tests.spark.processes import family, send
from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir={tmp}"
SUBMIT = '--driver-memory 768m --driver-java-options "{flags}" pyspark-shell'

Row = dict[str, Any]
Place = tuple[str, int, int]


@dataclass(frozen=True)
class Sent:
    """A record as its producer gives it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None

    def packed(self) -> list[Any]:
        headers = [[name, packed(content)] for name, content in self.headers]
        return [
            self.topic,
            self.partition,
            self.timestamp_ms,
            packed(self.key),
            packed(self.value),
            headers,
        ]


def packed(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


class Peer:
    """The process of peer_program.py."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "peer.log"
        # Short: the paths of Unix sockets lie below it.
        self._tmp = tempfile.TemporaryDirectory(prefix="zkp")
        jars = kafka_source_jars(print)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.peer_program"],
                cwd=ROOT,
                env=self._environment(jars),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._answer()

    def _environment(self, jars: Sequence[Path]) -> dict[str, str]:
        tmp = self._tmp.name
        return {
            **os.environ,
            "PEER_JARS": ",".join(map(str, jars)),
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": SUBMIT.format(flags=FLAGS.format(tmp=tmp)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": tmp,
            "TMPDIR": tmp,
        }

    def produce(
        self, bootstrap: str, records: Sequence[Sent], *, end: str = "", **more: str
    ) -> int:
        """With Kafka's own client; the last offset. `more` are its properties, dots as
        underscores.
        """
        properties = {name.replace("_", "."): value for name, value in more.items()}
        answer = self._ask(
            do="produce",
            properties={"bootstrap.servers": bootstrap, "linger.ms": "500", **properties},
            records=[record.packed() for record in records],
            end=end,
        )
        return int(answer["offsets"][-1])

    def abort_open(self) -> None:
        self._ask(do="abort_open")

    def read(self, source: str, options: Mapping[str, str], name: str) -> Read:
        into = self.directory / name
        answer = self._ask(do="read", source=source, options=dict(options), into=str(into))
        table = pa.parquet.read_table(into)
        return Read(answer["schema"], table.to_pylist(), int(answer["batches"]))

    def read_batch(
        self,
        source: str,
        options: Mapping[str, str],
        name: str,
        where: Sequence[str] = (),
        *,
        pushed: bool = False,
    ) -> BatchRead:
        into = self.directory / name
        answer = self._ask(
            do="read_batch",
            source=source,
            options=dict(options),
            where=list(where),
            into=str(into),
            pushed=pushed,
        )
        rows = pa.parquet.read_table(into).to_pylist()
        return BatchRead(answer["schema"], rows, 1, int(answer["received"]), answer["plan"])

    def stream(
        self,
        *sources: Mapping[str, str],
        how: str = "union",
        sink: Mapping[str, str],
        checkpoint: Path,
        **trigger: Any,
    ) -> int:
        """The number of batches that had rows."""
        answer = self._ask(
            do="stream",
            sources=[dict(one) for one in sources],
            how=how,
            sink=dict(sink),
            checkpoint=str(checkpoint),
            trigger=trigger,
        )
        return int(answer["batches"])

    def frame(
        self, source: str, options: Mapping[str, str], name: str, where: str = "true"
    ) -> None:
        """Made once; each `act` on it is a separate action."""
        self._ask(do="frame", source=source, options=dict(options), name=name, where=where)

    def act(self, name: str, action: str, *, pushed: bool = False) -> int:
        """`count`, `collect`, or the count of a `union` with itself; the number of rows."""
        return int(self._ask(do="act", name=name, action=action, pushed=pushed)["rows"])

    def sql(self, *statements: str) -> list[list[Any]]:
        rows: list[list[Any]] = self._ask(do="sql", statements=list(statements))["rows"]
        return rows

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            send(family(self._process.pid), signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._tmp.cleanup()

    def _ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        assert "error" not in answer, f"{answer['error'][:2000]}\nsee {self.log}"
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the peer's process has ended, see {self.log}"
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass(frozen=True)
class Read:
    """What one source has delivered of one topic."""

    schema: str
    rows: list[Row]
    batches: int


@dataclass(frozen=True)
class BatchRead(Read):
    """`received`: rows that the source has handed to Spark, before Spark's own filters."""

    received: int
    plan: str


def place(row: Row) -> Place:
    return row["topic"], row["partition"], row["offset"]


def differences(ours: Read, theirs: Read) -> Iterator[str]:
    """In words: rows that only one has or has twice, and columns that are not the same."""
    if ours.schema != theirs.schema:
        yield f"schema {ours.schema}, not {theirs.schema}"
    for who, read in (("ours", ours), ("theirs", theirs)):
        for where, count in Counter(map(place, read.rows)).items():
            if count > 1:
                yield f"{where}: {count} times in {who}"
    mine = {place(row): row for row in ours.rows}
    peers = {place(row): row for row in theirs.rows}
    for where in sorted(mine.keys() ^ peers.keys()):
        yield f"{where}: only in {'ours' if where in mine else 'theirs'}"
    for where in sorted(mine.keys() & peers.keys()):
        for column, value in peers[where].items():
            found = mine[where].get(column)
            # None equals no bytes; a dictionary's or a list's content is compared likewise.
            if found != value:
                yield f"{where}: {column} is {found!r}, not {value!r}"
