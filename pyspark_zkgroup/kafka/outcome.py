"""What a broker's answer to a fetch means for one range. Pure: the same answer always means the
same.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.kafka.framing import FramingError, frames
from pyspark_zkgroup.kafka.wire import FetchedPartition


@dataclass(frozen=True, slots=True)
class Read:
    """Whole batches in the first `size` bytes (perhaps none: the records are gone); continue at
    `next_offset`.
    """

    size: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """Visible records end at or after `until`, yet no batch is between the position and it."""


@dataclass(frozen=True, slots=True)
class TakesTurn:
    """Other partitions filled the answer. Not a delay: it is asked for earlier next time."""


@dataclass(frozen=True, slots=True)
class Again:
    """Ask again later; the reason is reported if it lasts too long."""

    reason: str
    log_end: int | None = None
    leader_moved: bool = False
    is_gone: bool = False
    """The brokers know no such partition."""


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """The log does not hold the position: it begins later, or ends before."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Asking again will not help."""

    reason: str
    may_not_read: bool = False


Outcome = Read | NothingLeft | TakesTurn | Again | OutOfRange | Failed


def judge(
    fetched: FetchedPartition | None, *, position: int, until: int, is_served_first: bool
) -> Outcome:
    """`is_served_first`: no partition before this one in the request got records. A broker owes
    only the first such partition a whole batch, however large; to the others an empty answer may
    mean that there was no room.
    """
    if fetched is None:
        return Again("its leader did not mention it", leader_moved=True)
    if fetched.error is not None:
        if fetched.error.out_of_range:
            return OutOfRange()
        if fetched.error.retryable:
            return Again(f"its leader answered {fetched.error}", leader_moved=True)
        reason = f"its leader answered {fetched.error}"
        return Failed(reason, may_not_read=fetched.error.topic_refused)
    if len(fetched.records):
        try:
            whole = frames(fetched.records, position, until)
        except FramingError as error:
            return Failed(f"its leader sent {error}")
        if whole.next_offset > position:
            return Read(whole.size, whole.next_offset)
        if whole.size > 0:
            return Again("its leader sent only records before that offset")
        return Again("its leader sent only a part of a batch") if is_served_first else TakesTurn()
    if not is_served_first:
        return TakesTurn()
    if fetched.end >= until:
        return NothingLeft()
    # Perhaps it leads no more and has not heard of it: the next request goes to the leader that
    # another broker names.
    return Again(
        f"its log ends at {fetched.end}, before the end of the range",
        log_end=fetched.end,
        leader_moved=True,
    )
