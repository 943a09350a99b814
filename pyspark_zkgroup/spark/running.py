"""`run_until_stopped(query)`: keeps a script running until its query ends, then drains it.

Signal handlers only note the signal: an exception raised in one would leave py4j's connection in
the middle of a call, and the next call on it would wait for the answer of the first.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.noted_signals import noted_signals
from pyspark_zkgroup.spark.progress import shown_offset
from pyspark_zkgroup.spark.stopping import apart, asked_from_outside, finished_ends, stop

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_TELL_EVERY_S = 5.0
_STOP_AT_ONCE_S = 2.0

Say = Callable[[str], None]


def _say(text: str) -> None:
    print(f"zkgroup: {text}", file=sys.stderr, flush=True)


def run_until_stopped(query: StreamingQuery, say: Say = _say) -> bool:
    """Wait until `query` ends, and drain it on SIGTERM, Ctrl-C or `zkgroup stop`. For the main
    thread of a script.

    `say`: receives each message, by default printed on stderr. Return True if the query ended
    without an error, or was drained as `stop` says. A second Ctrl-C stops it at once. Raises the
    error of a query that failed.

        is_complete = run_until_stopped(query)
    """
    signals: list[int] = []
    with noted_signals(signals.append):
        while not signals and not asked_from_outside(query):
            if query.awaitTermination(1):
                return True
        return _drained(query, signals, say)


def stop_on_sigterm(query: StreamingQuery) -> bool:
    """Call `run_until_stopped` with `query`, but print no messages: for jobs that print their own.
    Returns and raises the same.

        is_complete = stop_on_sigterm(query)
    """
    return run_until_stopped(query, lambda _: None)


def _drained(query: StreamingQuery, signals: list[int], say: Say) -> bool:
    asked = signal.Signals(signals[0]).name if signals else "zkgroup stop"
    batch = _batch_in_flight(query)
    say(
        f"{asked}: draining… The query stops when {batch} is finished and its offsets are "
        "committed. Press Ctrl-C again to stop at once"
    )
    found: list[bool] = []
    draining = threading.Thread(target=lambda: found.append(stop(query)), daemon=True)
    began = told = time.monotonic()
    already = signals.count(signal.SIGINT)
    draining.start()
    while draining.is_alive():
        draining.join(0.1)
        if signals.count(signal.SIGINT) > already:
            return _stopped_at_once(query, batch, say)
        if time.monotonic() >= told + _TELL_EVERY_S:
            told = time.monotonic()
            say(f"draining… {told - began:.0f} s, {batch}: {query.status['message']}")
    drained = bool(found and found[0])
    if drained:
        say("drained: everything that was read is committed")
    else:
        say(f"stopped without draining: {_repeated(query, batch)}")
    return drained


def _stopped_at_once(query: StreamingQuery, batch: str, say: Say) -> bool:
    say(f"stopped at once: {_repeated(query, batch)}")
    apart(query.stop, _STOP_AT_ONCE_S)
    return False


def _batch_in_flight(query: StreamingQuery) -> str:
    progress = query.lastProgress
    return f"batch {0 if progress is None else progress.batchId + 1}"


def _repeated(query: StreamingQuery, batch: str) -> str:
    """What the next member may read again, as far as the query's progress tells."""
    positions = [
        f"{topic}-{number} from {entry['until']}"
        for end in finished_ends(query).values()
        for topic, partitions in shown_offset(end).get("partitions", {}).items()
        for number, entry in partitions.items()
    ]
    where = f" ({', '.join(positions)})" if positions else ""
    return f"records of {batch}{where} may be read again"
