"""How much of the backlog one batch takes: `maxOffsetsPerTrigger` and `maxBytesPerTrigger`, shared
over partitions, and whether it is held back until there is more: `minOffsetsPerTrigger`.

A broker does not say how many bytes a range of offsets takes. So bytes are reckoned from a sample
of each partition, read where the range begins: the limit is kept as well as the sample speaks for
what follows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.model import Sample, TopicPartition


def backlog(
    starts: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Offsets that wait in each partition of `starts`. None where the end is not known, or lies
    below the start (a topic made anew).
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
    """`until` of each partition of `starts`: start <= until, and until <= latest wherever start is.

    Without a limit, or with one that the whole backlog fits into, everything goes. Otherwise each
    partition gets its part pro rata to its backlog, rounded down, but one offset at least, so that
    a small partition beside a huge one still moves: the sum exceeds the limit by at most the number
    of partitions so raised.
    """
    _check(limit, "offsets")
    waiting = backlog(starts, latest)
    total = sum(waiting.values())
    if limit is None or total <= limit:
        return {partition: start + waiting[partition] for partition, start in starts.items()}
    # Whole numbers throughout: a float would lose offsets above 2**53.
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
    """As `share`, with the bytes that the backlog takes by the samples, and as fair: all partitions
    get the same part of what waits in them, and one offset at least. A partition of which there is
    no sample gets just that, and takes no part in the reckoning.
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
    """Whether a batch waits for more offsets: not the first one, for which `since_last_s` is None,
    and none for longer than the delay.
    """
    if offsets_min is None or offsets >= offsets_min:
        return False
    return since_last_s is not None and since_last_s < delay_max_s


def _check(limit: int | None, what: str) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of {limit} {what} would never read anything")
