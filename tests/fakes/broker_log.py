"""The log of one partition as a broker in this process keeps it: batches, and leader epochs."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from pyspark_zkgroup.model import AbortedTransaction

FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75


@dataclass
class Log:
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    """The offset after each batch, and the batch."""
    start: int = 0
    end: int = 0
    stable: int | None = None
    aborted: list[AbortedTransaction] = field(default_factory=list)
    committed: int | None = None
    """The high watermark, if it is not the log's end."""
    epoch: int = 0
    epoch_starts: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    def elect(self, end: int | None = None) -> None:
        """Elect a leader of the next epoch; if `end` is given, it has the log only up to there."""
        self.end = self.end if end is None else end
        self.batches = [(after, data) for after, data in self.batches if after <= self.end]
        self.epoch += 1
        kept = [(epoch, start) for epoch, start in self.epoch_starts if start < self.end]
        self.epoch_starts = [*kept, (self.epoch, self.end)]

    def end_of(self, epoch: int) -> int:
        later = [start for known, start in self.epoch_starts if known > epoch]
        return later[0] if later else self.end

    def refusal(self, current: int) -> int:
        """Return the error of a request that names this epoch as the leader's."""
        if current < 0 or current == self.epoch:
            return 0
        return FENCED_LEADER_EPOCH if current < self.epoch else UNKNOWN_LEADER_EPOCH

    def append(self, batch: bytes) -> int:
        (delta,) = struct.unpack_from(">i", batch, 23)
        base, self.end = self.end, self.end + delta + 1
        self.batches.append((self.end, struct.pack(">q", base) + batch[8:]))
        return base

    def visible_end(self, isolation: int) -> int:
        end = self.end if self.committed is None else self.committed
        return end if isolation == 0 or self.stable is None else self.stable

    def read(self, offset: int, isolation: int) -> bytes:
        end = self.visible_end(isolation)
        return b"".join(data for after, data in self.batches if offset < after <= end)
