"""The interface of decoders: raw record batches in, Arrow batches of bounded size out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition

COLUMN_BYTES_MAX = 2**31 - 1
"""Arrow counts the bytes of a column in 32 bits."""

HEADER_BYTES = 8
"""What a header takes in addition to its key and value: an entry in the column of each."""


@dataclass(frozen=True, slots=True)
class Limits:
    rows_max: int
    bytes_max: int
    """Limit on keys, values and headers together. A larger record becomes a batch alone."""
    unpacked_bytes_max: int
    """Limit on one record batch after decompression, and on the headers of one record: a larger
    one is refused.
    """

    def __post_init__(self) -> None:
        if min(self.rows_max, self.bytes_max, self.unpacked_bytes_max) <= 0:
            raise ValueError(f"limits must be above 0: {self}")


class Decoder(Protocol):
    """Returns rows in the order in which they were fed, but not at once: what does not fill a batch
    waits for more, of the same partition or another, until `finish`.
    """

    def feed(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        data: memoryview,
        aborted: Sequence[AbortedTransaction] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Decode whole record batches as a broker sent them.

        Rows outside `wanted` are left out, and so are those of the transactions that the same
        answer names as aborted. FetchError, with topic, partition and offset, if the bytes are not
        what a broker stores.
        """

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Return the rows that still wait."""
