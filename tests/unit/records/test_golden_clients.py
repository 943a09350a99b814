"""What Kafka's own clients wrote, read by both decoders; see golden/clients/README.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.choice import decoder, slow_because
from pyspark_zkgroup.records.decoder import Decoder, Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import WITH_HEADERS

FOLDER = Path(__file__).parents[2] / "golden" / "clients"
RECORDS = sorted(path.name for path in FOLDER.glob("*-magic*.bin"))
TRANSACTIONS = sorted(path.name for path in FOLDER.glob("*-transactions-*.bin"))
LIMITS = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
HEADERS = [
    {"key": "h\u00e9-0", "value": b"\1"},
    {"key": "h\u00e9-1", "value": None},
    {"key": "h\u00e9-2", "value": b""},
]

Made = Callable[[], Decoder]
DECODERS: dict[str, Made] = {"reference": lambda: ReferenceDecoder(LIMITS, WITH_HEADERS)}
if slow_because() is None:
    DECODERS["native"] = lambda: decoder(LIMITS, WITH_HEADERS)


def read(one: Decoder, name: str, *aborted: AbortedTransaction) -> pa.Table:
    data = memoryview((FOLDER / name).read_bytes())
    fed = list(one.feed(TopicPartition("t", 0), OffsetRange(0, 100), data, aborted))
    return pa.Table.from_batches([*fed, *one.finish()])


@pytest.mark.parametrize("made", DECODERS.values(), ids=DECODERS)
@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_read(name: str, made: Made) -> None:
    table = read(made(), name)
    magic = int(name.partition("magic")[2][0])
    assert table["offset"].to_pylist() == [0, 1, 2, 3]
    assert table["key"].to_pylist() == [b"key-0", None, b"key-2", b"key-3"]
    texts = [b"value-%d " % n * 20 for n in range(2)]
    assert table["value"].to_pylist() == [*texts, b"", None]
    times = table["timestamp"].cast(pa.int64()).to_pylist()
    made_at_us = [(1_600_000_000_000 + n) * 1000 for n in range(4)]
    assert times == (made_at_us if magic else [-1000] * 4)
    headers = [None, HEADERS[:1], HEADERS[:2], HEADERS] if magic == 2 else [None] * 4
    assert table["headers"].to_pylist() == headers


@pytest.mark.parametrize("made", DECODERS.values(), ids=DECODERS)
@pytest.mark.parametrize("name", TRANSACTIONS)
def test_what_was_aborted_is_left_out_where_it_is_named(name: str, made: Made) -> None:
    assert read(made(), name)["offset"].to_pylist() == [0, 2, 4]
    committed = read(made(), name, AbortedTransaction(7, 2))
    assert committed["offset"].to_pylist() == [0, 4]


def test_no_format_and_codec_is_missing() -> None:
    found = {name.partition("-")[2] for name in RECORDS}
    old = {f"magic{m}-{codec}.bin" for m in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")}
    new = {f"magic2-{codec}.bin" for codec in ("none", "gzip", "snappy", "lz4", "zstd")}
    assert found == old | new
    assert len(TRANSACTIONS) == 5
