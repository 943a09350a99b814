"""What a commit of ours has in addition to the offset, and what follows from finding it, or not.

No commit depends on what it overwrites. But every write of ours has a unique token, and a
plain consumer's commit, a tool's reset or an expired offset takes ours away. So offset and token
together name one write, and the token is the fence that a plan carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from pyspark_zkgroup.model import Fence, OffsetRange

Outcome = Literal["include", "leave out", "wait"]

_METADATA = re.compile(r"zkgroup (first )?([0-9A-Za-z._-]{1,200})")


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """What the group holds of a partition. `offset` is None where it holds nothing."""

    offset: int | None
    metadata: str = ""

    @property
    def token(self) -> Fence | None:
        match = _METADATA.fullmatch(self.metadata)
        return Fence(match[2]) if match else None

    @property
    def is_first(self) -> bool:
        """Whether no member has read from here yet."""
        match = _METADATA.fullmatch(self.metadata)
        return match is not None and match[1] is not None


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """A partition's progress: finished up to `done`; the group holds `value` under our `fence`, or
    what one of the writes in `doubts` has put there, which were never answered.
    """

    fence: Fence
    value: int
    done: int
    doubts: tuple[tuple[Fence, int], ...] = ()

    @classmethod
    def planned(cls, fence: Fence, start: int, done: int) -> GroupProgress:
        """From what a plan says of a range that begins at `start`. ValueError if it is no fence."""
        if "@" not in fence:
            return cls(fence, start, done)
        writes = [each.rpartition("@") for each in fence.split("+")]
        (oldest, _, value), *newer = writes
        return cls(
            Fence(oldest),
            int(value),
            done,
            tuple((Fence(token), int(at)) for token, _, at in newer),
        )

    @property
    def current(self) -> Fence:
        """For a plan. While finished work is not committed, it names all that the group may hold:
        else a replay would take our own write, or its absence, for another member's claim.

        Two drivers on one checkpoint: the first plans under a commit that was not done, refused for
        the moment or never answered, and is stopped; the second leaves the range out, and its empty
        batch reaches the sink; the first continues, its batch is skipped by the sink, is assigned
        the partition again and commits.
        """
        if not (self.unsettled or self.doubts):
            return self.fence
        return Fence("+".join(f"{token}@{at}" for token, at in self._writes))

    @property
    def _writes(self) -> tuple[tuple[Fence, int], ...]:
        return ((self.fence, self.value), *self.doubts)

    @property
    def unsettled(self) -> bool:
        return self.done != self.value

    def sent(self, new_token: Callable[[], Fence]) -> GroupProgress:
        """With a commit of what is done under way. One that is sent again bears the same token, so
        that no more is in doubt than there were batches.
        """
        if self.doubts and self.doubts[-1][1] == self.done:
            return self
        return replace(self, doubts=(*self.doubts, (new_token(), self.done)))

    @property
    def newest(self) -> Fence:
        """The token of the newest write that was sent."""
        return self._writes[-1][0]

    def is_untouched(self, committed: GroupOffset) -> bool:
        return (committed.token, committed.offset) in self._writes


def metadata_of(fence: Fence, *, first: bool = False) -> str:
    return f"zkgroup {'first ' if first else ''}{fence}"


def position(known: GroupProgress | None, committed: GroupOffset) -> int | None:
    """Return where reading continues with a newly assigned partition; None where it is not known.

    Untouched since our own last write: behind what we have finished, which settles it. Else the
    group's offset, always; but a first position that was made up while the group's offsets were
    lost is worth less than what we remember.
    """
    if committed.offset is None:
        return known.done if known is not None else None
    if known is not None and (known.is_untouched(committed) or committed.is_first):
        return known.done
    return committed.offset


def replayed(planned: OffsetRange, fence: Fence, committed: GroupOffset, *, mine: bool) -> Outcome:
    """What becomes of a range after a crash. It can only shrink: once moved, it stays excluded.

    Untouched and another's, it may be claimed or committed by that one, or become ours. Leaving it
    out now would not hold: another crash, the other gone without a trace, and it would be in.
    """
    if not GroupProgress.planned(fence, planned.start, planned.start).is_untouched(committed):
        return "leave out"
    return "include" if mine else "wait"
