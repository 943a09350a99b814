"""What a backfill notes in its checkpoint: the ranges it was asked for, and which steps are done.

`ranges.json` is written once, whole or not at all; `step-000007` means that step 7 is in the table.
A step that is in the table and not noted is read again, and the table refuses its rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.jobs.ranges import Ranges, read_back, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VERSION = 1


class DoneSteps:
    """By the JVM, which knows every storage that a checkpoint may lie on."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self._jvm: Any = spark._jvm
        self._configuration = spark._jsc.hadoopConfiguration()
        self._storage = self._path(checkpoint).getFileSystem(self._configuration)

    def qualified(self, location: str) -> str:
        """Return a location that means the same in every working directory."""
        path = self._path(location)
        return str(path.getFileSystem(self._configuration).makeQualified(path).toString())

    def begun(self, asked: dict[str, str]) -> tuple[Ranges, int] | None:
        """The ranges and the number of steps of the run before; None where there was none."""
        path = self._path(f"{self.checkpoint}/ranges.json")
        if not self._storage.exists(path):
            return None
        stream = self._storage.open(path)
        try:
            noted = json.loads(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
        if noted["version"] != _VERSION:
            raise PlanError.of(
                "other_job_version", file=path, version=noted["version"], supported=_VERSION
            )
        if noted["asked"] != asked:
            before, now = noted["asked"], asked
            changed = sorted(n for n in {**before, **now} if before.get(n) != now.get(n))
            raise PlanError.of(
                "other_backfill",
                checkpoint=self.checkpoint,
                changes="; ".join(f"{n} was {before.get(n)!r}, is {now.get(n)!r}" for n in changed),
            )
        return read_back(noted["ranges"]), int(noted["steps"])

    def begin(self, asked: dict[str, str], ranges: Ranges, steps: int) -> None:
        """Note what the steps are. PlanError if some are noted as done already."""
        if self.done(steps):
            raise PlanError.of("steps_without_ranges", checkpoint=self.checkpoint)
        noted = {"version": _VERSION, "asked": asked, "steps": steps, "ranges": written(ranges)}
        part = self._path(f"{self.checkpoint}/.ranges.part")
        self._write(part, json.dumps(noted, indent=1))
        if not self._storage.rename(part, self._path(f"{self.checkpoint}/ranges.json")):
            raise PlanError.of("not_renamed", file=part)

    def done(self, steps: int) -> set[int]:
        return {n for n in range(steps) if self._storage.exists(self._of(n))}

    def note(self, number: int) -> None:
        self._write(self._of(number), "")

    def _of(self, number: int) -> Any:
        return self._path(f"{self.checkpoint}/step-{number:06d}")

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    def _write(self, path: Any, text: str) -> None:
        out = self._storage.create(path, True)
        try:
            out.write(text.encode())
        finally:
            out.close()
