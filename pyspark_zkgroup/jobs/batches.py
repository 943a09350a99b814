"""What the batches of a member's query were, as Spark reports each of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from pyspark_zkgroup.jobs.progress import Bar, Progress, line
from pyspark_zkgroup.spark.progress import read_progress, shown_offset

_LAST_EVENT_S = 30.0


class Batches(StreamingQueryListener):
    """Counts batches, for a driver with one query, and shows them: in a line each, or in a bar on a
    terminal. A batch without anything to read, which Spark may report too, is not counted.
    """

    def __init__(self, say: Callable[[str], None], bar: Bar | None = None) -> None:
        self.count = self.offsets = 0
        self.standing = "lag not known"
        self._say, self._bar = say, bar
        self._began = time.monotonic()
        self._ended = threading.Event()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        report = json.loads(progress.json)
        offsets = sum(part.end - part.start for m in read_progress(report) for part in m.partitions)
        self.standing = standing(report) or self.standing
        if offsets:
            self.count += 1
            self.offsets += offsets
        now = Progress(self.offsets, lag(report), time.monotonic() - self._began)
        if self._bar is not None:
            self._bar.draw(now)
            return
        self._say(
            f"batch {progress.batchId}: {offsets} offsets in "
            f"{progress.batchDuration / 1000:.1f} s; {self.standing}; so far {line(now)}"
        )

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        return

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        return

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._ended.set()

    def wait_until_told(self) -> None:
        """Events come on a thread of their own, in order: after the end of the query none does."""
        self._ended.wait(_LAST_EVENT_S)
        if self._bar is not None:
            self._bar.clear()


def standing(report: dict[str, Any]) -> str | None:
    """What the member held and had still before it at its last boundary, as far as Spark tells."""
    for source in report["sources"]:
        latest = shown_offset(source.get("latestOffset"))
        if "lag" in latest:
            waiting = latest["waitingCount"]
            return f"lag {latest['lag']} on {latest['held']} partitions of {latest['member']}" + (
                f", waiting for {waiting} partitions" if waiting else ""
            )
    return None


def lag(report: dict[str, Any]) -> int | None:
    for source in report["sources"]:
        found = shown_offset(source.get("latestOffset")).get("lag")
        if isinstance(found, int):
            return found
    return None


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
