"""Tasks of `delta.ingest` write files that the table's log can name."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyspark_zkgroup.delta.direct import files as files_module
from pyspark_zkgroup.delta.direct.cutting import cut
from pyspark_zkgroup.delta.direct.descriptions import described
from pyspark_zkgroup.delta.direct.rules import Cut, Log, ReadRange, WrittenFile
from pyspark_zkgroup.delta.direct.target import HIDDEN_OFFSET
from pyspark_zkgroup.delta.direct.writing import IntoFiles
from pyspark_zkgroup.model import OffsetRange
from tests.unit.delta.ingest_scene import ID, SETTINGS, VALUE, WHEN, records, target, task, written

FIRST = {0: range(10, 14), 1: range(5)}


def values(file: WrittenFile) -> dict[str, str | None]:
    return dict(file.partition_values)


def test_each_kafka_partition_has_separate_files(tmp_path: Path) -> None:
    read, files = written(target(tmp_path), FIRST)
    assert read == [
        ReadRange(Log("orders", 0, ID), OffsetRange(10, 14)),
        ReadRange(Log("orders", 1, ID), OffsetRange(0, 5)),
    ]
    assert [(f.log.partition, f.first, f.last, f.rows) for f in files] == [
        (0, 10, 13, 4),
        (1, 0, 4, 5),
    ]
    assert [values(f) for f in files] == [
        {"topic": "orders", "partition": "0"},
        {"topic": "orders", "partition": "1"},
    ]
    place = Path(target(tmp_path).directory) / files[0].path
    assert place.stat().st_size == files[0].bytes
    assert pq.read_schema(place).names == ["offset", "value"]
    assert files[0].path.startswith("topic=orders/partition=0/part-")


def test_a_range_without_records_is_reported_without_a_file(tmp_path: Path) -> None:
    read, files = written(target(tmp_path), {0: range(0)}, {0: range(7, 9)})
    assert [(one.range.start, one.range.until) for one in read] == [(7, 9)]
    assert files == []


def test_values_of_a_field_and_days_are_partitions(tmp_path: Path) -> None:
    into = target(tmp_path, (VALUE,), ("day", "value.country"))
    batches = records(into, {0: range(8)}, timedelta(hours=4))
    rows = [
        r for b in IntoFiles(into)(task({0: range(8)}), SETTINGS, batches) for r in b.to_pylist()
    ]
    _, files = described(rows)
    found = {(values(f)["day"], values(f)["country"]): (f.first, f.last, f.rows) for f in files}
    assert found == {
        ("2026-11-24", "de"): (0, 0, 1),
        ("2026-11-24", None): (1, 1, 1),
        ("2026-11-24", "a b/%"): (2, 2, 1),
        ("2026-11-25", None): (3, 7, 3),
        ("2026-11-25", "de"): (4, 4, 1),
        ("2026-11-25", "a b/%"): (6, 6, 1),
    }
    assert all(f.path.replace("day=", "").isascii() and "%" not in f.path for f in files)


def test_a_table_without_offsets_keeps_them_in_a_hidden_column(tmp_path: Path) -> None:
    into = target(tmp_path, (VALUE,), ())
    _, (file,) = written(into, {0: range(3, 6)})
    found = pq.read_table(Path(into.directory) / file.path, columns=[HIDDEN_OFFSET])
    assert found[HIDDEN_OFFSET].to_pylist() == [3, 4, 5]


def test_statistics_are_bounds_of_all_rows(tmp_path: Path) -> None:
    into = target(tmp_path, (*target(tmp_path).columns, WHEN))
    batches = records(into, {0: range(6)}, timedelta(microseconds=1500))
    batches = [batches[0].slice(0, 3), batches[0].slice(3)]
    rows = [
        r for b in IntoFiles(into)(task({0: range(6)}), SETTINGS, batches) for r in b.to_pylist()
    ]
    _, (file,) = described(rows)
    assert json.loads(file.stats) == {
        "numRecords": 6,
        "minValues": {
            "offset": 0,
            "timestamp": "2026-11-24T12:00:00.000Z",
            "value": {"id": 0, "country": ""},
        },
        # 7.5 ms: a bound of whole milliseconds lies above.
        "maxValues": {
            "offset": 5,
            "timestamp": "2026-11-24T12:00:00.008Z",
            "value": {"id": 5, "country": "de"},
        },
        "nullCount": {"offset": 0, "timestamp": 0, "value": {"id": 0, "country": 2, "x": 0}},
    }


def test_long_texts_are_bounded_by_a_prefix() -> None:
    from pyspark_zkgroup.delta.direct.statistics import _lower, _upper

    text = "a" * 40
    assert _lower(text) == "a" * 32 < text < _upper(text)
    assert _upper("a" * 32) == "a" * 32
    assert _upper("a" * 32 + "\U0010ffff" * 2) is None


def test_a_full_file_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "ROW_GROUP_BYTES", 1)
    into = replace(target(tmp_path), file_bytes=2000)
    whole = records(into, {0: range(3000)})[0]
    batches = [whole.slice(at, 100) for at in range(0, 3000, 100)]
    rows = [
        r for b in IntoFiles(into)(task({0: range(3000)}), SETTINGS, batches) for r in b.to_pylist()
    ]
    _, files = described(rows)
    assert len(files) > 3
    assert sum(f.rows for f in files) == 3000
    assert [f.first for f in files[1:]] == [f.last + 1 for f in files[:-1]]


def test_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "OPEN_FILES", 2)
    _, files = written(target(tmp_path), {n: range(3) for n in range(5)})
    assert [(f.log.partition, f.rows) for f in files] == [(n, 3) for n in range(5)]


def test_what_waits_for_a_row_group_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "BUFFERED_BYTES", 1)
    into = target(tmp_path)
    _, files = written(into, {n: range(3) for n in range(3)})
    counted = [pq.ParquetFile(Path(into.directory) / f.path).metadata.num_row_groups for f in files]
    assert counted == [1, 1, 1]


@pytest.mark.parametrize("columns", [None, (VALUE,)])
def test_a_file_is_cut_at_an_offset(tmp_path: Path, columns: tuple[object, ...] | None) -> None:
    into = target(tmp_path) if columns is None else target(tmp_path, (VALUE,), ("value.country",))
    _, files = written(into, {0: range(0, 40, 4)})
    (kept,) = cut(into, Cut(files[0], 17))
    assert (kept.first, kept.last, kept.rows) == (20, 36, 5)
    assert kept.partition_values == files[0].partition_values
    assert kept.path != files[0].path
    rows = pq.read_table(Path(into.directory) / kept.path)
    assert rows[into.offset_column].to_pylist() == [20, 24, 28, 32, 36]
    assert json.loads(kept.stats)["numRecords"] == 5
