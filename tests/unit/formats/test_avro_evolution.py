"""Writers' schemas become those of the columns as in from_avro; tests/spark/test_avro_equality.py
asks Spark for the same rows.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.avro.native import AvroParser
from pyspark_zkgroup.formats.avro.types import spark_type
from pyspark_zkgroup.schema import Type
from tests.harness import drawn_avro
from tests.harness.equal_rows import of_native
from tests.harness.evolved_avro import EVOLVED, Evolved, OneSchema


@pytest.mark.parametrize("case", EVOLVED, ids=[case.about for case in EVOLVED])
def test_a_writer_becomes_the_columns_as_in_from_avro(case: Evolved) -> None:
    rows, reasons = read(case.writer, case.reader, case.value)
    assert [reason is None for reason in reasons] == [case.row is not None]
    assert case.row is None or rows == [case.row]


def test_fields_that_get_one_name_are_named() -> None:
    case = next(case for case in EVOLVED if "next to one of its name" in case.about)
    _, (reason,) = read(case.writer, case.reader, case.value)
    assert reason == (
        "the fields 'old' and 'new' of R are both 'new' in the schema of the columns, by its "
        "aliases"
    )


@pytest.mark.parametrize("unit", ["timestamp-millis", "timestamp-micros", "time-micros"])
def test_nanoseconds_are_not_taken_for_another_unit(unit: str) -> None:
    nanos, other = ({"type": "long", "logicalType": one} for one in ("timestamp-nanos", unit))
    for writer, reader in ((nanos, other), (other, nanos)):
        _, (reason,) = read(writer, reader, b"\2")
        assert "which cannot be read as" in str(reason)
    assert read(nanos, "long", b"\2") == ([1], [None])


@pytest.mark.parametrize(
    ("schema", "value", "wanted", "reason"),
    [
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            b"\2a",
            "string",
            "value is a bytes (decimal(5,2)), which cannot be read as STRING",
        ),
        (["int", "string"], b"\0\2", "int", "value is a union, which cannot be read as INT"),
    ],
)
def test_what_a_column_cannot_be_is_named(
    schema: Any, value: bytes, wanted: Type, reason: str
) -> None:
    parser = AvroParser(wanted, "value", "plain", OneSchema(schema, None))
    assert of_native(parser, [value]) == ([None], [reason])


def read(writer: Any, reader: Any, *values: bytes) -> tuple[list[Any], list[str | None]]:
    kind = spark_type(drawn_avro.parsed(reader))
    return of_native(AvroParser(kind, "value", "plain", OneSchema(writer, reader)), list(values))
