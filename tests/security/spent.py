"""What one input costs its reader: time of the processor and memory, measured."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Spent:
    """`seconds` are those of the processor, as another process may have it meanwhile."""

    seconds: float
    peak_bytes: int

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.peak_bytes / MIB:.1f} MiB"


def spent_on(read: Callable[[], object], *, memory: bool = True) -> Spent:
    """The memory is measured in a second run, which takes many times as long."""
    began = time.process_time()
    read()
    seconds = time.process_time() - began
    if not memory:
        return Spent(seconds, 0)
    tracemalloc.start()
    try:
        read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Spent(seconds, peak)
