"""Tries a commit again after each lost race: nothing was written, and comparing afresh may win."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import TypeVar

from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.errors import DeltaError

T = TypeVar("T")

# A lost race means that another writer has committed: the table makes progress. So many in a row,
# with pauses of up to two seconds, mean that a writer keeps committing what this batch depends on.
ATTEMPTS_MAX = 30


def until_won(
    attempt: Callable[[], T],
    races: tuple[type[Exception], ...],
    lost: Callable[[Exception], None],
    given_up: Callable[[Exception], DeltaError],
    attempts_max: int = ATTEMPTS_MAX,
) -> T:
    """Return what `attempt` returns once it loses no race. `lost` is called after each lost race;
    after the last attempt the error that `given_up` makes is raised.
    """
    pauses = delays(Random())
    left = attempts_max
    while True:
        try:
            return attempt()
        except races as error:
            lost(error)
            left -= 1
            if left == 0:
                raise given_up(error) from error
        time.sleep(next(pauses))


def lost_races() -> tuple[type[Exception], ...]:
    """Return what Delta raises for a lost race: it has no base class for them. Known by name only
    once delta.exceptions is loaded; until then they arrive as bare Java errors.
    """
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
