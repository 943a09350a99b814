"""Spark's logs of offsets and commits of a query, as one of its drivers reads and writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.sim.process import Process

if TYPE_CHECKING:
    from tests.sim.query import Batch, Query

_EVIDENCE_WAIT_S = 1.0
_LOOK_AGAIN_S = 0.05


class Checkpoint:
    def __init__(self, query: Query, process: Process, is_over: Callable[[], bool]) -> None:
        self._query = query
        self._process = process
        self._is_over = is_over
        self._known: list[Batch] = []

    def resume(self) -> Batch | None:
        """Return the last batch that is logged."""
        self._known = list(self._query.batches)
        return self._known[-1] if self._known else None

    def log(self, batch: Batch) -> bool:
        """Return False if another driver on this checkpoint has logged a batch of that number:
        Spark's log refuses a second one.
        """
        if self._query.batches != self._known:
            return False
        self._query.batches.append(batch)
        self._known.append(batch)
        return True

    @property
    def next_number(self) -> int:
        return len(self._known)

    def is_finished(self, _location: str, end: dict[str, Any]) -> bool:
        """As planning/evidence.py finds it in the checkpoint's files."""
        process = self._process
        give_up_at = process.now + _EVIDENCE_WAIT_S
        while True:
            last = self._query.batches[-1:]
            if not last or last[0].end != end:
                return False
            if last[0].finished:
                return True
            if process.now > give_up_at or self._is_over():
                return False
            process.clock.sleep(_LOOK_AGAIN_S)
