"""Rows of JSON are those of Spark's from_json, or are refused as docs/formats.md says.

Schemas and values are drawn by chance; half of the values are malformed or of a wrong type.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.json.native import JsonParser
from pyspark_zkgroup.schema import Array, Column, Map, Struct, Type
from tests.harness import drawn_json
from tests.harness.equal_rows import Tally, frame_of, of_native, of_spark
from tests.harness.small_spark import small_spark

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("default"),
]

CORRUPT = Column("_corrupt_record", "string")
BROKEN = 0.5
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as made:
        yield made


def test_rows_are_those_of_from_json(spark: SparkSession) -> None:
    compare(spark, schemas=8, values=200, seed=1)


@pytest.mark.long
def test_many_rows_are_those_of_from_json(spark: SparkSession) -> None:
    compare(spark, schemas=300, values=1000, seed=7)


def compare(spark: SparkSession, schemas: int, values: int, seed: int) -> None:
    tally = Tally()
    for number in range(schemas):
        chance = random.Random(seed * 100_000 + number)
        kind = drawn_json.schema(chance)
        drawn = [drawn_json.value(chance, kind, BROKEN) for _ in range(values)]
        zone = ZONES[number % len(ZONES)]
        spark.conf.set("spark.sql.session.timeZone", zone)
        ours, reasons = of_native(JsonParser(kind, zone), drawn)
        try:
            theirs, are_bad = of_from_json(spark, kind, drawn)
        except Exception as error:
            # An array or map of TIMESTAMP_NTZ that holds none ends Spark's query.
            if isinstance(kind, Struct) or "INTERNAL_ERROR" not in str(error):
                raise
            tally.counted["values of schemas that Spark fails on"] += values
            continue
        for value, our, their, reason, is_bad in zip(
            drawn, ours, theirs, reasons, are_bad, strict=True
        ):
            if is_bad not in (None, reason is not None):
                # Equal rows are not enough: only one of them is bad.
                our, their = (our, reason), (their, is_bad)
            refusal = documented(kind, reason, is_bad)
            tally.take(ddl(kind), value, our, their, reason, refusal)
        tally.tell(number)
    assert tally.counted["values"] >= 0.9 * schemas * values
    tally.check()


def documented(kind: Type, reason: str | None, is_bad: bool | None) -> str | None:
    """What the page says of a record that differs from Spark's: it is bad in any case."""
    if reason is None:
        return None
    if "not supported: " in reason:
        return reason.partition("not supported: ")[2]
    if "a number is too long" in reason:
        return "a number of more than 1,000 digits"
    if "a control character is not escaped" in reason and "binary" in ddl(kind):
        return "a raw control character within Base64"
    is_malformed = reason.startswith("not JSON") and is_bad is not False
    return "malformed within a nested value" if is_malformed else None


def of_from_json(
    spark: SparkSession, kind: Type, drawn: list[bytes]
) -> tuple[list[Any], list[bool] | list[None]]:
    frame, text = frame_of(spark, drawn), col("value").cast("string")
    rows = of_spark(frame, from_json(text, ddl(kind)))
    if not isinstance(kind, Struct):
        return rows, [None] * len(rows)
    caught = from_json(text, ddl(Struct((*kind.fields, CORRUPT))))
    return rows, of_spark(frame, caught["_corrupt_record"].isNotNull())


def ddl(kind: Type) -> str:
    match kind:
        case Struct(fields):
            return f"struct<{','.join(f'`{one.name}`:{ddl(one.type)}' for one in fields)}>"
        case Array(element):
            return f"array<{ddl(element)}>"
        case Map(_, value):
            return f"map<string,{ddl(value)}>"
        case _:
            return str(kind)
