"""The decoder alone: what a broker sends becomes Arrow batches, on one core, checksums checked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.choice import decoder
from pyspark_zkgroup.records.decoder import Limits
from tests.bench.cases import Size
from tests.bench.payload import Pack, at_offset, packed, plain_batches

ROUNDS = 7
ANSWER_BYTES = 1024 * 1024
"""What a task asks of one partition by default."""


@dataclass(frozen=True)
class Decoded:
    size: str
    codec: str
    rows: int
    seconds: tuple[float, ...]
    """Of this process's own time on a core."""

    @property
    def rows_s(self) -> float:
        return self.rows / median(self.seconds)


def decode(size: Size, codec: str, pack: Pack, rows: int, rounds: int = ROUNDS) -> Decoded:
    answers, held = _answers(size, codec, pack, rows)
    taken = [_once(answers, held) for _ in range(rounds + 1)]
    return Decoded(size.name, codec, held, tuple(taken[1:]))


def _once(answers: list[tuple[OffsetRange, memoryview]], held: int) -> float:
    found = 0
    began = time.process_time()
    decoding = decoder(limits())
    partition = TopicPartition("bench", 0)
    for wanted, data in answers:
        for batch in decoding.feed(partition, wanted, data):
            found += batch.num_rows
    for batch in decoding.finish():
        found += batch.num_rows
    taken = time.process_time() - began
    assert found == held, f"{found} rows of {held}"
    return taken


def _answers(
    size: Size, codec: str, pack: Pack, rows: int
) -> tuple[list[tuple[OffsetRange, memoryview]], int]:
    """Bytes as a fetch brings them, a megabyte of whole batches at a time."""
    records = size.batch_records
    plain = plain_batches(size.record_bytes, records)
    batches = [packed(batch, codec, pack) for batch in plain]
    answers: list[tuple[OffsetRange, memoryview]] = []
    begin = offset = 0
    gathered: list[bytes] = []
    for number in range(rows // records):
        gathered.append(at_offset(batches[number % len(batches)], offset))
        offset += records
        if sum(map(len, gathered)) > ANSWER_BYTES:
            answers.append((OffsetRange(begin, offset), memoryview(b"".join(gathered))))
            begin, gathered = offset, []
    if gathered:
        answers.append((OffsetRange(begin, offset), memoryview(b"".join(gathered))))
    return answers, offset


def limits() -> Limits:
    """Those of a task without options."""
    settings = FetchSettings(("localhost:9092",))
    return Limits(
        rows_max=settings.batch_rows_max,
        bytes_max=settings.batch_bytes_max,
        unpacked_bytes_max=settings.record_batch_bytes_max,
    )
