"""How much of the backlog one batch takes, and whether the batch is held back.

`maxOffsetsPerTrigger` and `maxBytesPerTrigger` are shared over partitions; `minOffsetsPerTrigger`
holds a batch back until there is more. Brokers do not report how many bytes a range of offsets
takes. So bytes are estimated from a sample of each partition, read where the range begins: the
limit is kept as far as the sample represents what follows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.model import Sample, TopicPartition


def backlog(
    starts: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return how many offsets wait in each partition of `starts`.

    None if the end is not known, or is less than the start (the topic was recreated).
    """
    return {
        partition: max(0, latest.get(partition, start) - start)
        for partition, start in starts.items()
    }


def share(
    limit: int | None,
    starts: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return `until` of each partition of `starts`: start <= until, and until <= latest wherever
    start is.

    If there is no limit, or the whole backlog fits, everything is taken. Otherwise each partition
    gets a part proportional to its backlog, rounded down, but one offset at least, so that a small
    partition next to a huge one still moves. The sum exceeds the limit by at most the number of
    partitions that were raised to one.
    """
    _check(limit, "offsets")
    waiting = backlog(starts, latest)
    total = sum(waiting.values())
    if limit is None or total <= limit:
        return {partition: start + waiting[partition] for partition, start in starts.items()}
    # Integers throughout: a float would lose offsets above 2**53.
    return {
        partition: start + min(waiting[partition], max(1, waiting[partition] * limit // total))
        for partition, start in starts.items()
    }


def share_bytes(
    limit: int | None,
    starts: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    samples: Mapping[TopicPartition, Sample],
) -> dict[TopicPartition, int]:
    """Share bytes like `share`, with the bytes that each backlog takes according to its sample.

    Every partition gets the same part of its backlog, and one offset at least. A partition without
    a sample gets one offset, and does not count in the calculation.
    """
    _check(limit, "bytes")
    waiting = backlog(starts, latest)
    if limit is None:
        return {partition: start + waiting[partition] for partition, start in starts.items()}
    sizes = {
        partition: -(-waiting[partition] * sample.size_bytes // sample.offsets)
        for partition, sample in samples.items()
        if partition in waiting
    }
    total = sum(sizes.values())

    def taken(partition: TopicPartition) -> int:
        if partition not in sizes:
            return min(waiting[partition], 1)
        if total <= limit:
            return waiting[partition]
        return min(waiting[partition], max(1, waiting[partition] * limit // total))

    return {partition: start + taken(partition) for partition, start in starts.items()}


def is_held_back(
    offsets: int, offsets_min: int | None, *, since_last_s: float | None, delay_max_s: float
) -> bool:
    """Return whether a batch waits for more offsets.

    The first batch, for which `since_last_s` is None, never waits; no batch waits longer than the
    delay.
    """
    if offsets_min is None or offsets >= offsets_min:
        return False
    return since_last_s is not None and since_last_s < delay_max_s


def _check(limit: int | None, what: str) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of {limit} {what} would never read anything")
