from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_zkgroup.kafka.framing import Frames, frames
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder

FOLDER = Path(__file__).parents[2] / "golden" / "records"
FILES = sorted(path.name for path in FOLDER.glob("*.bin"))
EPOCH_US = 1_600_000_000_000_000


def decode(name: str, wanted: OffsetRange) -> pa.Table:
    limits = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
    decoder = ReferenceDecoder(limits)
    data = memoryview((FOLDER / name).read_bytes())
    fed = list(decoder.feed(TopicPartition("t", 0), wanted, data))
    return pa.Table.from_batches([*fed, *decoder.finish()])


def key(n: int) -> bytes | None:
    return [b"key-%d" % n, None, b""][n % 3]


def value(n: int) -> bytes | None:
    one = [b" ".join([b"value-%d" % n] * 3), b"", None][n // 2 % 3]
    return b"only" if one is None and key(n) is None else one


@pytest.mark.parametrize("name", FILES)
def test_what_a_real_broker_sent(name: str) -> None:
    table = decode(name, OffsetRange(0, 8))
    assert table["offset"].to_pylist() == list(range(8))
    assert table["key"].to_pylist() == [key(n) for n in range(8)]
    assert table["value"].to_pylist() == [value(n) for n in range(8)]
    times = table["timestamp"].cast(pa.int64()).to_pylist()
    (kind,) = set(table["timestampType"].to_pylist())
    if "append-time" in name:
        assert kind == 1
        assert len(set(times)) == 1
        assert times[0] > EPOCH_US + 10**9
    elif name.startswith("magic0"):
        assert (kind, set(times)) == (-1, {-1000})
    else:
        assert (kind, times) == (0, [EPOCH_US + 1000 * n for n in range(8)])


@pytest.mark.parametrize("name", FILES)
def test_a_range_cut_out_of_it(name: str) -> None:
    assert decode(name, OffsetRange(3, 6))["offset"].to_pylist() == [3, 4, 5]


@pytest.mark.parametrize("name", FILES)
def test_its_end_is_found_without_unpacking(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    end = 18 if "transactions" in name else 8
    assert frames(data, 0, 1000) == Frames(len(data), end)


def test_markers_are_left_out_and_what_was_aborted_is_not() -> None:
    table = decode("magic2-none-transactions.bin", OffsetRange(0, 18))
    assert table["offset"].to_pylist() == [*range(8), *range(9, 17)]


def test_every_file_is_named_in_the_catalogue() -> None:
    expected = {f"magic2-{codec}.bin" for codec in ("none", "gzip", "snappy", "lz4", "zstd")}
    expected |= {
        f"magic{magic}-{codec}.bin"
        for magic in (0, 1)
        for codec in ("none", "gzip", "snappy", "lz4")
    }
    expected |= {f"magic{magic}-lz4-append-time.bin" for magic in (1, 2)}
    assert set(FILES) == expected | {"magic2-none-transactions.bin"}
