"""What the checkers keep of each partition: what was read, by which member, and since when it
counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        """Return the first offset of [start, until) that is not in it."""
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
    """One partition as the group should hold it."""

    epoch: int = 0
    owed_from: dict[int, int] = field(default_factory=dict)
    covered: dict[int, Covered] = field(default_factory=dict)
    deliveries: dict[int, list[Delivery]] = field(default_factory=dict)
    set_back_at: float = float("-inf")
    changed_at: float = float("-inf")
    writer: int = 0
    rolled_back: dict[int, int] = field(default_factory=dict)
    """The offset of the snapshot, by the epoch that began with it."""
    rolled_back_at: float = float("-inf")
    imported_at: float = float("-inf")
    lost: bool = False
    was_lost: bool = False
    values: set[int] = field(default_factory=set)
    """All values that the group's offset has ever had."""
    cuts: dict[int, int] = field(default_factory=dict)
    """Where the log was cut, by the epoch that ended with it."""
    unlooked: int | None = None
    """The group's offset, where the log was cut and its holder has not looked at it since."""

    def cut(self, at: int, end: int) -> None:
        """What is left counts in the next epoch as before; what is deleted is no longer owed in
        this one.
        """
        before, self.epoch = self.epoch, self.epoch + 1
        self.cuts[before] = at
        after = self.cover(self.epoch)
        for start, until in self.cover(before).ranges:
            after.add(start, min(until, at))
        self.cover(before).add(at, end)
        if before in self.owed_from:
            self.owed_from[self.epoch] = min(self.owed_from[before], at)

    def roll_back(self, to: int, at: float) -> None:
        """What was read before need not come again."""
        self.rolled_back_at = at
        before, self.epoch = self.epoch, self.epoch + 1
        self.rolled_back[self.epoch] = to
        self.owed_from[self.epoch] = self.owed_from.get(before, to)
        for start, until in self.cover(before).ranges:
            self.cover(self.epoch).add(start, until)

    def add(self, epoch: int, start: int, until: int) -> None:
        """A batch of an epoch before a cut has read what was left, too."""
        self.cover(epoch).add(start, until)
        while epoch in self.cuts or epoch + 1 in self.rolled_back:
            until = min(until, self.cuts.get(epoch, until))
            epoch += 1
            self.cover(epoch).add(start, until)

    def gap(self, epoch: int, start: int, until: int) -> int | None:
        """Return the first offset that was not read in this epoch, nor in one that explains it."""
        gap = self.cover(epoch).first_gap(start, until)
        while gap is not None and until > start and epoch - 1 in self.cuts:
            # A batch under way when the log was cut: what it was planned for is gone.
            epoch -= 1
            # Or it was planned before the cut and logged after it: what was left, it has read.
            since = gap if gap >= self.cuts[epoch] else start
            if self.cover(epoch).first_gap(since, until) is None:
                return None
        return gap

    def first_unread(self, earliest: int, end: int) -> int | None:
        return self.cover(self.epoch).first_gap(self._owed(earliest), end)

    def unread_rows(self, earliest: int, end: int) -> int:
        start = self._owed(earliest)
        return max(0, end - start) - self.cover(self.epoch).rows(start, end)

    def _owed(self, earliest: int) -> int:
        return max(earliest, self.owed_from.get(self.epoch, earliest))

    def cover(self, epoch: int) -> Covered:
        covered = self.covered.get(epoch)
        if covered is None:
            covered = self.covered[epoch] = Covered()
        return covered
