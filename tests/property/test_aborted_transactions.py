"""Transactions of several producers that overlap in a log, some of them aborted.

Which records count is known while the log is written, so that is what both decoders are held
against. The broker's list is made as a broker makes it: of every aborted transaction that reaches
into what is read, in the order of their markers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.choice import decoder, slow_because
from pyspark_zkgroup.records.decoder import Decoder, Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from tests.harness.record_batches import CODECS, TRANSACTIONAL_BIT, Record, batch, marker

TP = TopicPartition("orders", 3)
LIMITS = Limits(rows_max=7, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)

WRITE, WRITE_APART, COMMIT, ABORT = "write", "write outside of it", "commit", "abort"
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([WRITE, WRITE, WRITE, WRITE_APART, COMMIT, ABORT]),
        st.integers(1, 3),
        st.sampled_from(list(CODECS.values())),
    ),
    max_size=30,
)


@dataclass
class Log:
    batches: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    next_offset: int = 100
    counting: set[int] = field(default_factory=set)
    open: dict[int, list[int]] = field(default_factory=dict)
    """Of each producer that is in a transaction: its offsets so far."""
    aborted: list[tuple[AbortedTransaction, int]] = field(default_factory=list)
    """With the offset of the marker."""

    def write(self, producer: int, count: int, codec: int, *, bits: int) -> list[int]:
        offsets = list(range(self.next_offset, self.next_offset + count))
        records = [Record(offset) for offset in offsets]
        made = batch(records, codec=codec, attributes=bits, producer_id=producer)
        self._append(made, count)
        return offsets

    def end(self, producer: int, *, aborts: bool) -> None:
        offsets = self.open.pop(producer, None)
        if offsets is None:
            return
        if aborts:
            transaction = AbortedTransaction(producer, offsets[0])
            self.aborted.append((transaction, self.next_offset))
        else:
            self.counting.update(offsets)
        self._append(marker(self.next_offset, producer, aborts=aborts), 1)

    def _append(self, made: bytes, count: int) -> None:
        self.batches.append(made)
        self.starts.append(self.next_offset)
        self.next_offset += count


def written(steps: list[tuple[int, str, int, int]]) -> Log:
    log = Log()
    for producer, step, count, codec in steps:
        if step == WRITE:
            offsets = log.write(producer, count, codec, bits=TRANSACTIONAL_BIT)
            log.open.setdefault(producer, []).extend(offsets)
        elif step == WRITE_APART:
            # A producer may count its records without a transaction, under the same id.
            log.counting.update(log.write(producer, count, codec, bits=0))
        else:
            log.end(producer, aborts=step == ABORT)
    for producer in sorted(log.open):
        log.end(producer, aborts=producer % 2 == 0)
    return log


def offsets(decoder: Decoder, log: Log, first: int, end: int, wanted: OffsetRange) -> list[int]:
    data = b"".join(log.batches[first:end])
    begin, until = [*log.starts, log.next_offset][first], [*log.starts, log.next_offset][end]
    named = [t for t, closed in log.aborted if closed >= begin and t.first_offset < until]
    fed = [*decoder.feed(TP, wanted, memoryview(data), named), *decoder.finish()]
    return [offset for one in fed for offset in one["offset"].to_pylist()]


@given(STEPS, st.data())
def test_what_was_aborted_is_left_out_and_nothing_else(
    steps: list[tuple[int, str, int, int]], data: st.DataObject
) -> None:
    log = written(steps)
    # An answer begins and ends with any batch, also in the middle of a transaction.
    first = data.draw(st.integers(0, len(log.batches)))
    end = data.draw(st.integers(first, len(log.batches)))
    starts = [*log.starts, log.next_offset]
    wanted = OffsetRange(data.draw(st.integers(starts[first], starts[end])), starts[end])
    expected = sorted(n for n in log.counting if wanted.start <= n < wanted.until)

    assert offsets(ReferenceDecoder(LIMITS), log, first, end, wanted) == expected
    if slow_because() is None:
        assert offsets(decoder(LIMITS), log, first, end, wanted) == expected


def test_without_the_list_all_of_them_are_read() -> None:
    log = written([(0, WRITE, 2, 0), (1, WRITE, 1, 0), (0, ABORT, 1, 0), (1, COMMIT, 1, 0)])
    data = memoryview(b"".join(log.batches))
    one = ReferenceDecoder(LIMITS)
    table = pa.Table.from_batches([*one.feed(TP, OffsetRange(0, 1000), data), *one.finish()])
    assert table["offset"].to_pylist() == [100, 101, 102]
