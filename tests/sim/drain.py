"""A query's drain in the simulated world."""

from __future__ import annotations

from typing import Any

Offset = dict[str, Any]


class SimDrain:
    """The content of a drain's files, without files."""

    def __init__(self) -> None:
        self.asked = False
        self.end: Offset | None = None
        self.acknowledged = False

    def open(self) -> None: ...

    def requested(self) -> bool:
        return self.asked

    def finished(self, end: Offset) -> bool:
        return self.end is not None and self.end == end

    def ask_driver(self, by: str) -> None:
        """No request from outside arrives here."""

    def acknowledge(self) -> None:
        self.acknowledged = True

    def settle(self, settled: bool) -> None: ...

    def close(self) -> None: ...
