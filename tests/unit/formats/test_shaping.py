from __future__ import annotations

import logging
import pickle
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.errors import BadRecordError, OptionError
from pyspark_zkgroup.formats.json.format import JsonFormat
from pyspark_zkgroup.formats.shaping import RowShape, Shaper
from pyspark_zkgroup.schema import COLUMNS, CORRUPT, Column, Struct, arrow_schema

ID = Struct((Column("id", "bigint"),))
VALUE = Column("value", ID)
VALUE_JSON = (("value", JsonFormat()),)
GOOD, BAD = b'{"id":1}', b'{"id":"x"}'


def shaped(shaper: Shaper, values: list[bytes | None], **more: Any) -> list[dict[str, Any]]:
    columns: dict[str, Any] = {
        "value": values,
        "topic": ["orders"] * len(values),
        "partition": [3] * len(values),
        "offset": list(range(10, 10 + len(values))),
        **more,
    }
    schema = arrow_schema(shaper.raw)
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    rows = [row for one in shaper.shaped(batch) for row in one.to_pylist()]
    shaper.finish()
    return rows


def test_columns_without_a_format_pass_as_they_are() -> None:
    assert Shaper(RowShape()).raw == COLUMNS
    shape = RowShape((Column("value", "binary"),))
    assert shaped(Shaper(shape), [b"v", None]) == [{"value": b"v"}, {"value": None}]


def test_a_bad_record_ends_the_batch_and_is_named() -> None:
    shaper = Shaper(RowShape((VALUE,), VALUE_JSON))
    assert shaped(shaper, [GOOD, None]) == [{"value": {"id": 1}}, {"value": None}]
    with pytest.raises(BadRecordError) as caught:
        shaped(shaper, [GOOD, BAD, BAD])
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.what == (
        "The record at offset 11 of orders-3 is bad: value: id: found a string, expected BIGINT"
    )
    assert "corrupt STRUCT<bytes: BINARY, reason: STRING>" in error.remedy
    assert (error.topic, error.partition, error.offset) == ("orders", 3, 11)


def test_permissive_gives_null_fields_and_counts_them(caplog: pytest.LogCaptureFixture) -> None:
    shaper = Shaper(RowShape((Column("offset", "bigint"), VALUE), VALUE_JSON, permissive=True))
    with caplog.at_level(logging.WARNING):
        rows = shaped(shaper, [GOOD, BAD, BAD])
    assert [row["value"] for row in rows] == [{"id": 1}, {"id": None}, {"id": None}]
    assert [row["offset"] for row in rows] == [10, 11, 12]
    assert "[ZKG-197] 2 bad records were read with null fields" in caplog.text
    assert "offset 11 of orders-3: value: id: found a string" in caplog.text


def test_the_corrupt_column_has_the_bytes_and_the_reason() -> None:
    shaper = Shaper(RowShape((CORRUPT, VALUE), VALUE_JSON))
    assert [column.name for column in shaper.raw] == ["value"]
    reason = "value: id: found a string, expected BIGINT"
    assert shaped(shaper, [GOOD, BAD, None]) == [
        {"corrupt": None, "value": {"id": 1}},
        {"corrupt": {"bytes": BAD, "reason": reason}, "value": {"id": None}},
        {"corrupt": None, "value": None},
    ]


def test_of_a_bad_key_and_a_bad_value_the_value_is_reported() -> None:
    shape = RowShape((Column("key", ID), VALUE, CORRUPT), (("key", JsonFormat()), *VALUE_JSON))
    rows = shaped(Shaper(shape), [GOOD, b"[", b"["], key=[b"{", b"{}", b"{"])
    assert [row["corrupt"]["bytes"] for row in rows] == [b"{", b"[", b"["]
    assert [row["corrupt"]["reason"].partition(":")[0] for row in rows] == ["key", "value", "value"]


def test_without_the_native_decoder_json_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyspark_zkgroup.formats.json.native", None)
    with pytest.raises(OptionError, match=r"'value\.format' is 'json', but the native decoder"):
        Shaper(RowShape((VALUE,), VALUE_JSON))
