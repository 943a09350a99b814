"""Races that a commit has lost: nothing is written, and comparing afresh may win.

Delta gives each its own exception and no base that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.errors import DeltaError

# Each lost race means that another writer has committed: the table goes on. So many in a row, with
# pauses of up to two seconds, mean that somebody writes without an end what this batch must see.
ATTEMPTS_MAX = 30
FIRST_PAUSE_S = 0.05


def lost_races() -> tuple[type[Exception], ...]:
    """Known by name only once delta.exceptions is loaded; else they come as bare Java errors."""
    from delta.exceptions import (
        ConcurrentAppendException,
        ConcurrentDeleteDeleteException,
        ConcurrentDeleteReadException,
        ConcurrentTransactionException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
    )

    return (
        ConcurrentAppendException,
        ConcurrentDeleteDeleteException,
        ConcurrentDeleteReadException,
        ConcurrentTransactionException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
    )


def until_won(attempt: Callable[[], None], lost: Callable[[], None], where: str) -> None:
    """Calls `attempt` until no race is lost, with pauses; `lost` is called after each that was."""
    races = lost_races()
    last: Exception | None = None
    for pause_s in _pauses():
        try:
            return attempt()
        except races as error:
            last = error
            lost()
        time.sleep(pause_s)
    raise DeltaError(
        f"others changed what this batch must be compared with in {where} while it was written, "
        f"{ATTEMPTS_MAX} times in a row ({type(last).__name__})",
        "Lay the table out by topic and partition, so that members are not in each other's way, "
        "or see who else writes there; then start the query again: nothing is lost",
    ) from last


def _pauses() -> Iterator[float]:
    return islice(delays(Random(), first_s=FIRST_PAUSE_S), ATTEMPTS_MAX)
