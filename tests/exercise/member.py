"""A query of the exercise: python -m tests.exercise.member

The real planner and task in Spark's order, in a separate process. It logs what the package logs on
a driver, and what Spark logs about a query, as far as an operator reads that. Its first line of
input is its job, as JSON; then come `hang` and `work <ms for each record>`. The end of the input
ends it at once: it does not outlive its starter.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark_zkgroup.worker_log import log_to_stderr
from tests.harness.spark_order import Checkpoint, Query

TRIGGER_S = 2.0
SAID_EVERY_S = 10.0
_log = logging.getLogger("MicroBatchExecution")


class Driver:
    def __init__(self, options: dict[str, str], checkpoint: Path) -> None:
        self.query = Query(options, restored(checkpoint))
        self.hangs = False
        self.work_s = 0.0
        # Never set: SIGTERM ends the wait by its exception.
        self._pause = threading.Event()
        self._said_at = time.monotonic()
        self._worked_at = self._said_at

    def obey(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        if word == "hang":
            self.hangs = True
        elif word == "work":
            self.work_s = float(rest) / 1000

    def run(self) -> None:
        while True:
            began = time.monotonic()
            rows = self.query.trigger(self._at)
            self._say(rows, time.monotonic() - began)
            self.query.batches.clear()
            self._pause.wait(max(0.0, began + TRIGGER_S - time.monotonic()))

    def _at(self, step: str) -> None:
        """What the sink does, or does not."""
        if step != "sunk":
            return
        while self.hangs:
            self._pause.wait(1.0)
        self._pause.wait(self.work_s * len(self.query.batches[-1][1]))

    def _say(self, rows: int, took_s: float) -> None:
        now = time.monotonic()
        if rows:
            self._worked_at = now
        if now - self._said_at < SAID_EVERY_S:
            return
        self._said_at = now
        if now - self._worked_at >= SAID_EVERY_S:
            _log.info("Streaming query has been idle and waiting for new data more than 10000 ms.")
        progress = {
            "batchId": len(self.query.checkpoint.offsets) - 1,
            "numInputRows": rows,
            "durationMs": {"triggerExecution": int(took_s * 1000)},
            "sources": [{"latestOffset": self.query.planner.report_latest()}],
        }
        _log.info("Streaming query made progress: %s", json.dumps(progress))


def restored(directory: Path) -> Checkpoint:
    """Spark's two logs as the last process has left them."""

    def numbers(log: str) -> list[int]:
        return sorted(int(path.name) for path in (directory / log).glob("[0-9]*"))

    def offset(number: int) -> dict[str, Any]:
        text = (directory / "offsets" / str(number)).read_text()
        found: dict[str, Any] = json.loads(text.split("\n", 2)[2])
        return found

    return Checkpoint([offset(n) for n in numbers("offsets")], set(numbers("commits")), directory)


def follow(obey: Callable[[str], None]) -> None:
    for line in sys.stdin:
        obey(line)
    os._exit(1)


def leave(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def main() -> int:
    log_to_stderr()
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _log.addHandler(shown)
    _log.setLevel(logging.INFO)
    told = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, leave)
    try:
        driver = Driver(told["options"], Path(told["checkpoint"]))
        threading.Thread(target=follow, args=(driver.obey,), daemon=True).start()
        _log.info("Starting new streaming query.")
        try:
            driver.run()
        finally:
            driver.query.stop()
    except Exception:  # noqa: BLE001 - as Spark shows what has ended a query
        _log.exception("Query terminated with error")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
