"""What a decoder is: raw record batches of any partitions in, Arrow batches of bounded size out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition

COLUMN_BYTES_MAX = 2**31 - 1
"""Arrow counts the bytes of a column in 32 bits."""

HEADER_BYTES = 8
"""What a header takes besides its key and value: a place in the column of each."""


@dataclass(frozen=True, slots=True)
class Limits:
    rows_max: int
    bytes_max: int
    """Of keys, values and headers together. A larger record is a batch of its own."""
    unpacked_bytes_max: int
    """Of one record batch once it is unpacked, and of the headers of one record: what claims to be
    larger is refused.
    """

    def __post_init__(self) -> None:
        if min(self.rows_max, self.bytes_max, self.unpacked_bytes_max) <= 0:
            raise ValueError(f"limits must be above 0: {self}")


class Decoder(Protocol):
    """Rows come out in the order in which they were fed. Not all of them at once: what does not
    fill a batch waits for more, of the same partition or another, until `finish`.
    """

    def feed(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        data: memoryview,
        aborted: Sequence[AbortedTransaction] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Whole record batches as a broker sent them; rows outside `wanted` are left out, and so
        are those of the transactions that the same answer names as aborted.

        FetchError, with topic, partition and offset, when the bytes are not what a broker keeps.
        """

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is still held back."""
