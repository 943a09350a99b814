"""How many bytes to ask of a partition, so that a small range does not bring megabytes with it.

A broker sends all it may, however little of it is wanted. For a range of 250 records within a long
backlog that would be megabytes to send, receive and throw away, in every task of every small batch.
"""

from __future__ import annotations

from pyspark_zkgroup.model import TopicPartition

# Before anything of a partition has been seen. Too little costs one more request, once.
_BYTES_EACH_FIRST = 1024.0
# Brokers give whole batches: room for the rest of one at either end.
_ROOM_BYTES = 64 * 1024
_MARGIN = 1.5
# Large records are forgotten slowly: asking for too little costs more than asking for too much.
_KEPT = 0.9


class RecordSizes:
    """Bytes of one record on the wire, by partition: what was seen lately at the most."""

    def __init__(self) -> None:
        self._bytes_each: dict[TopicPartition, float] = {}

    def bytes_for(self, partition: TopicPartition, records: int, bytes_max: int) -> int:
        each = self._bytes_each.get(partition, _BYTES_EACH_FIRST)
        return int(min(bytes_max, _ROOM_BYTES + _MARGIN * each * records))

    def seen(self, partition: TopicPartition, records: int, size: int) -> None:
        kept = _KEPT * self._bytes_each.get(partition, 0.0)
        self._bytes_each[partition] = max(size / max(1, records), kept)

    def too_little(self, partition: TopicPartition, bytes_max: int) -> None:
        """Not one whole batch came: next time everything may."""
        self._bytes_each[partition] = float(bytes_max)
