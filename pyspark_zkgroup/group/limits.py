"""How much of the backlog one batch takes: `maxOffsetsPerTrigger`, shared over partitions."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.model import TopicPartition


def share(
    limit: int | None,
    starts: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """`until` of each partition of `starts`: start <= until, and until <= latest wherever start is.

    Without a limit, or with one that the whole backlog fits into, everything goes. Otherwise each
    partition gets its part pro rata to its backlog, rounded down, but one offset at least, so that
    a small partition beside a huge one still moves: the sum exceeds the limit by at most the number
    of partitions so raised. A partition whose end is not known, or lies below the start (a topic
    made anew), has no backlog and stands still.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of {limit} offsets would never read anything")
    backlog = {
        partition: max(0, latest.get(partition, start) - start)
        for partition, start in starts.items()
    }
    total = sum(backlog.values())
    if limit is None or total <= limit:
        return {partition: start + backlog[partition] for partition, start in starts.items()}
    # Whole numbers throughout: a float would lose offsets above 2**53.
    return {
        partition: start + min(backlog[partition], max(1, backlog[partition] * limit // total))
        for partition, start in starts.items()
    }
