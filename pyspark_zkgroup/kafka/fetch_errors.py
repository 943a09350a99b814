"""What ends a task, with the exact offsets and what to do."""

from __future__ import annotations

from pyspark_zkgroup.errors import FetchError, OffsetOutOfRangeError
from pyspark_zkgroup.model import OffsetRange, TopicPartition


def unreadable(tp: TopicPartition, left: OffsetRange, reason: str) -> FetchError:
    return FetchError.of(
        "unreadable", partition=tp, offset=left.start, until=left.until, reason=reason
    )


def deleted(tp: TopicPartition, left: OffsetRange, start: int, end: int) -> OffsetOutOfRangeError:
    return OffsetOutOfRangeError.of(
        "deleted",
        partition=tp,
        offset=left.start,
        start=start,
        end=end,
        until=left.until,
    )


def ends_early(tp: TopicPartition, left: OffsetRange, ended: str) -> FetchError:
    return FetchError.of(
        "log_too_short", partition=tp, offset=left.start, until=left.until, end=ended
    )


def cut(tp: TopicPartition, lost: OffsetRange, end: int, reason: str) -> FetchError:
    return FetchError.of(
        "lost",
        partition=tp,
        offset=lost.start,
        last=lost.until - 1,
        reason=reason,
        end=end,
    )
