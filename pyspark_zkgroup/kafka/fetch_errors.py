"""What ends a task, with the exact offsets and what to do."""

from __future__ import annotations

from pyspark_zkgroup.errors import FetchError, OffsetOutOfRangeError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

_ANEW = (
    "Set the group's offset to one that exists, and start the query with a new checkpointLocation"
)


def unreadable(tp: TopicPartition, left: OffsetRange, reason: str) -> FetchError:
    return FetchError(
        f"{tp} cannot be read from offset {left.start} up to {left.until}: {reason}",
        "Check that the topic still exists, that its brokers run and that this client may read "
        "it. The task can be tried again: it will read the same records",
        topic=tp.topic,
        partition=tp.partition,
        offset=left.start,
    )


def deleted(tp: TopicPartition, left: OffsetRange, start: int, end: int) -> OffsetOutOfRangeError:
    return OffsetOutOfRangeError(
        f"Offset {left.start} of {tp} is no longer there: the log holds [{start}, {end}), "
        f"and the range to read ends at {left.until}",
        f"The records were deleted (retention, or by hand) before they were read. {_ANEW}",
        topic=tp.topic,
        partition=tp.partition,
        offset=left.start,
    )


def ends_early(tp: TopicPartition, left: OffsetRange, ended: str) -> FetchError:
    return FetchError(
        f"{tp} cannot be read from offset {left.start} up to {left.until}: its log ends at {ended}",
        "The log was cut, or the topic was deleted and made again, after this range was "
        f"planned. {_ANEW}",
        topic=tp.topic,
        partition=tp.partition,
        offset=left.start,
    )


def cut(tp: TopicPartition, lost: OffsetRange, end: int, reason: str) -> FetchError:
    return FetchError(
        f"Offsets {lost.start} to {lost.until - 1} of {tp} are lost: {reason}",
        f"{_ANEW}, or set failOnDataLoss to false to read on from {end}",
        topic=tp.topic,
        partition=tp.partition,
        offset=lost.start,
    )
