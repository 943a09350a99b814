"""`stop(query)`: end a query at a point where everything it has read is committed to the group.

Asks the planner to plan nothing more, lets the running batch end, and stops the query once the
planner has committed it: at its next boundary, or, between long triggers, while leaving, on the
word of Spark's newest progress that the batch is finished.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.planning.drain import directory_of, is_private
from pyspark_zkgroup.spark.progress import shown_offset

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")
_LOOK_AGAIN_S = 0.05
_LEAVE_S_MAX = 15.0
_log = logging.getLogger("pyspark_zkgroup.stop")


def stop(query: StreamingQuery, timeout_s: float = 600.0) -> bool:
    """Finish the batch of `query`, commit its offsets, and stop it. Return True if that succeeded.

    False: the query was stopped, but its last batch may be read again. Its batch took longer than
    `timeout_s`, or its planner could not be reached. Over Spark Connect with a server on another
    machine it never can, so the query is stopped at once.

        if not stop(query, timeout_s=120.0):
            print("the last batch may be read again")
    """
    return bool(apart(lambda: _stop(query, timeout_s)))


def _stop(query: StreamingQuery, timeout_s: float) -> bool:
    if not hasattr(query, "isActive"):
        raise OptionError.of("no_query", kind=type(query).__name__)
    pid = _jvm_pid()
    directory = directory_of(pid)
    if not query.isActive:
        return True
    name = query.id
    try:
        # Without a driver on this machine no planner will ever answer.
        drained = bool(pid) and _drain(query, directory, time.monotonic() + timeout_s)
        if not drained:
            _log.warning(catalogue.warning("ZKG-144", query=name))
        boxes = _planners_of(query, directory)
        named = bool(_members(query))
        query.stop()
    except Exception as error:
        # SIGTERM to a process group: the JVM ends while this waits for the batch.
        if not has_lost_jvm(error):
            raise
        _log.warning(catalogue.warning("ZKG-187", query=name))
        return False
    _wait_until_left(boxes, named)
    return drained


def apart(act: Callable[[], T], timeout_s: float | None = None) -> T | None:
    """The result of `act`, on its own thread and so its own py4j connection: an exception of a
    signal handler can leave the caller's connection in the middle of a call, and any further call
    on it would wait for that one. None after `timeout_s`.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(act())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    if errors:
        raise errors[0]
    return results[0] if results else None


def _drain(query: StreamingQuery, directory: Path, give_up_at: float) -> bool:
    while time.monotonic() < give_up_at:
        if not query.isActive:
            return False
        boxes = _planners_of(query, directory)
        # In this order: read before, the ends would be those of the batch before last where one
        # ends in between, and the planner would not find its own among them.
        idle = _is_idle(query)
        ends = finished_ends(query)
        for box in boxes:
            _write(box, "drain", {"finished": ends.get(_member(box)) if idle else None})
        if boxes and all(box.with_suffix(".drained").exists() for box in boxes):
            return True
        # Between two triggers nothing runs, and with the request in place nothing more is planned:
        # Spark's progress names the newest batch, and the planner compares it with its own before
        # it believes it. A batch planned just before the request is seen by its trigger, or by its
        # end.
        named = bool(boxes) and all(
            _member(box) in ends or box.with_suffix(".settled").exists() for box in boxes
        )
        if idle and named and _is_idle(query) and finished_ends(query) == ends:
            return True
        time.sleep(_LOOK_AGAIN_S)
    return False


def has_lost_jvm(error: BaseException) -> bool:
    """Not every error of py4j: most are answers of a JVM that lives. Clients of Spark Connect have
    no py4j to import.
    """
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def asked_from_outside(query: StreamingQuery) -> bool:
    """Only where progress tells which planner is the query's own: not on the word of another's."""
    boxes = _planners_of(query, directory_of(_jvm_pid())) if _members(query) else []
    return any(box.with_suffix(".asked").exists() for box in boxes)


def _is_idle(query: StreamingQuery) -> bool:
    return query.isActive and not query.status["isTriggerActive"]


def _planners_of(query: StreamingQuery, directory: Path) -> list[Path]:
    """The planners whose member the query's progress names; before any progress, all that might be
    its own.
    """
    if not is_private(directory):
        return []
    alive = [box for box in sorted(directory.glob("*.json")) if _alive(box)]
    members = _members(query)
    return [box for box in alive if not members or _member(box) in members]


def _members(query: StreamingQuery) -> set[str]:
    return {
        offset["member"]
        for source in _sources(query)
        for offset in map(shown_offset, (source.get("endOffset"), source.get("latestOffset")))
        if offset.get("member")
    }


def finished_ends(query: StreamingQuery) -> dict[str, dict[str, Any]]:
    ends = (shown_offset(source.get("endOffset")) for source in _sources(query))
    return {end["member"]: end for end in ends if end.get("member")}


def _sources(query: StreamingQuery) -> list[dict[str, Any]]:
    progress = query.lastProgress
    if progress is None:
        return []
    sources: list[dict[str, Any]] = json.loads(progress.json)["sources"]
    return sources


def _member(box: Path) -> str:
    try:
        return str(json.loads(box.read_text())["member"])
    except (OSError, ValueError, KeyError):
        return ""


def _alive(box: Path) -> bool:
    try:
        os.kill(int(json.loads(box.read_text())["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _write(box: Path, kind: str, value: dict[str, Any]) -> None:
    partial = box.with_suffix(f".{kind}.part")
    partial.write_text(json.dumps(value))
    partial.replace(box.with_suffix(f".{kind}"))


def _wait_until_left(boxes: list[Path], named: bool) -> None:
    """Spark does not wait for its planner process; who stops a query wants its partitions free.

    Where no progress has named the query's own planner, `boxes` has those of the driver's other
    queries as well; then the first one to leave is it.
    """

    def left() -> bool:
        present = sum(box.exists() and _alive(box) for box in boxes)
        return present == 0 or (not named and present < len(boxes))

    _until(left, _LEAVE_S_MAX)
    for box in boxes:
        for kind in (".drain", ".drained"):
            box.with_suffix(kind).unlink(missing_ok=True)


def _until(condition: Callable[[], bool], seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition() and time.monotonic() < give_up_at:
        time.sleep(_LOOK_AGAIN_S)


def _jvm_pid() -> int:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return 0
    return int(context._jvm.java.lang.ProcessHandle.current().pid())
