"""How many bytes the records of a partition take at some offset: one small fetch to each leader.

Whole record batches come back, of which only the heads are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from pyspark_zkgroup.kafka import leaders
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.framing import FramingError, frames
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.wire import BrokerError, FetchedPartition, fetch_answer, fetch_request
from pyspark_zkgroup.model import Sample, TopicPartition

_PARTITION_BYTES = 64 * 1024
_ANSWER_BYTES = 2 * 1024 * 1024
_BASE_OFFSET_BYTES = 8
_HEAD = struct.Struct(">qi")  # offset, and the length of what follows


def take(
    cluster: Cluster, positions: Mapping[TopicPartition, int], *, timeout_s: float
) -> dict[TopicPartition, Sample]:
    """One for each partition that its leader gave at once. The first that a leader is asked for is
    sure of its record batch, however large; of the others those are left out whose batches are
    too large for the room that is left.
    """
    deadline = cluster.clock.monotonic() + timeout_s
    by_leader: dict[int, list[TopicPartition]] = {}
    for partition, leader in leaders.find(cluster, positions, timeout_s=timeout_s).items():
        if not isinstance(leader, NoLeader):
            by_leader.setdefault(leader.node, []).append(partition)
    left = deadline - cluster.clock.monotonic()
    if not by_leader or left <= 0:
        return {}
    requests = {
        leader: fetch_request(
            [(partition, positions[partition]) for partition in partitions],
            partition_bytes_max=_PARTITION_BYTES,
            bytes_max=_ANSWER_BYTES,
            wait_max_ms=0,
            isolation="read_uncommitted",
        )
        for leader, partitions in by_leader.items()
    }
    found: dict[TopicPartition, Sample] = {}
    firsts = {partitions[0] for partitions in by_leader.values()}
    for node, response in cluster.ask_each(requests, timeout_s=left).items():
        answer = None if isinstance(response, Lost) else fetch_answer(response, "read_uncommitted")
        if answer is None or isinstance(answer, BrokerError):
            leaders.forget(cluster, by_leader[node])
            continue
        for fetched in answer:
            if fetched.error is not None:
                leaders.forget(cluster, [fetched.partition])
                continue
            is_first = fetched.partition in firsts
            sample = sample_of(fetched, positions[fetched.partition], is_first=is_first)
            if sample is not None:
                found[fetched.partition] = sample
    return found


def sample_of(fetched: FetchedPartition, position: int, *, is_first: bool) -> Sample | None:
    data = fetched.records
    if not data:
        # Records that were compacted away up to the very end of the log take nothing at all.
        is_gap = is_first and fetched.end > position
        return Sample(fetched.end - position, 1) if is_gap else None
    try:
        whole = frames(data, position, max(fetched.end, position + 1))
    except FramingError:
        return None  # the task that reads it says what is wrong
    if whole.size:
        size = whole.size - _before(data, position)
        return Sample(whole.next_offset - position, max(1, size))
    if len(data) < _HEAD.size:
        return None
    # A broker before 0.10.1 cuts even the first message short. Its head is there, and its offset is
    # that of the last record in it.
    offset, length = _HEAD.unpack_from(data)
    return Sample(max(1, offset + 1 - position), _HEAD.size + max(0, length))


def _before(data: memoryview, position: int) -> int:
    """Bytes of the first batch that are not its share of what is behind the position."""
    base = int.from_bytes(data[:_BASE_OFFSET_BYTES], "big")
    if base >= position:
        return 0
    first = frames(data, position, position + 1)
    return first.size * (position - base) // (first.next_offset - base)
