"""What the checkers keep of each partition: what was read, by whom, and since when it counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.sim.query import Batch


class Covered:
    """A set of offsets, as sorted ranges that do not touch."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def add(self, start: int, until: int) -> None:
        if until <= start:
            return
        kept: list[tuple[int, int]] = []
        for a, b in self.ranges:
            if b < start or a > until:
                kept.append((a, b))
            else:
                start, until = min(a, start), max(b, until)
        kept.append((start, until))
        self.ranges = sorted(kept)

    def rows(self, start: int, until: int) -> int:
        return sum(max(0, min(b, until) - max(a, start)) for a, b in self.ranges)

    @property
    def size(self) -> int:
        return sum(until - start for start, until in self.ranges)

    def first_gap(self, start: int, until: int) -> int | None:
        """The first offset of [start, until) that is not in it."""
        for a, b in self.ranges:
            if a <= start < b:
                start = b
        return start if start < until else None


@dataclass
class Delivery:
    start: int
    until: int
    epoch: int
    batch: Batch | None
    """None: a JVM member's."""
    by: str
    at: float


@dataclass
class Progress:
    """One partition as the group should have it."""

    epoch: int = 0
    owed_from: dict[int, int] = field(default_factory=dict)
    covered: dict[int, Covered] = field(default_factory=dict)
    deliveries: dict[int, list[Delivery]] = field(default_factory=dict)
    set_back_at: float = float("-inf")
    changed_at: float = float("-inf")
    writer: int = 0
    imported_at: float = float("-inf")
    lost: bool = False
    was_lost: bool = False

    def cover(self, epoch: int) -> Covered:
        covered = self.covered.get(epoch)
        if covered is None:
            covered = self.covered[epoch] = Covered()
        return covered
