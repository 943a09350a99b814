"""Keeps the garbage collector away from what a Python process of Spark has loaded.

Spark's workers call `gc.collect()` after each task. That walks all that is loaded (pyspark,
pyarrow, kafka-python: tens of thousands of objects), takes 10 to 30 ms of processor time, and finds
nothing: a small batch pays more for it than for its records.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_frozen = False


def freeze_once() -> None:
    """At the first call of a process: what exists by then is never looked at again.

    Collected before, so that no garbage is kept. Once only, so that it stays bounded: what later
    tasks make is collected as ever.
    """
    global _frozen
    if not _frozen:
        _frozen = True
        gc.collect()
        gc.freeze()


@contextmanager
def uncollected() -> Iterator[None]:
    """For imports, once per process: what they make stays, and is never looked at."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
