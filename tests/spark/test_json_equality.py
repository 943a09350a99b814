"""Rows of JSON are those of Spark's from_json, or are refused as docs/formats.md says.

Schemas and values are drawn by chance; half of the values are malformed or of a wrong type.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
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
from tests.harness.plain_rows import plain

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
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    yield made
    made.stop()


def test_rows_are_those_of_from_json(spark: SparkSession) -> None:
    compare(spark, schemas=8, values=200, seed=1)


@pytest.mark.long
def test_many_rows_are_those_of_from_json(spark: SparkSession) -> None:
    compare(spark, schemas=300, values=1000, seed=7)


def compare(spark: SparkSession, schemas: int, values: int, seed: int) -> None:
    counted: Counter[str] = Counter()
    different: list[str] = []
    for number in range(schemas):
        chance = random.Random(seed * 100_000 + number)
        kind = drawn_json.schema(chance)
        drawn = [drawn_json.value(chance, kind, BROKEN) for _ in range(values)]
        zone = ZONES[number % len(ZONES)]
        spark.conf.set("spark.sql.session.timeZone", zone)
        ours, reasons = of_native(kind, zone, drawn)
        try:
            theirs, are_bad = of_spark(spark, kind, drawn)
        except Exception as error:
            # An array or map of TIMESTAMP_NTZ that holds none ends Spark's query.
            if isinstance(kind, Struct) or "INTERNAL_ERROR" not in str(error):
                raise
            counted["values of schemas that Spark fails on"] += values
            continue
        for value, our, their, reason, is_bad in zip(
            drawn, ours, theirs, reasons, are_bad, strict=True
        ):
            counted["values"] += 1
            counted["bad"] += reason is not None
            if our == their and is_bad in (None, reason is not None):
                counted["equal"] += 1
            elif (refusal := documented(kind, reason, is_bad)) is not None:
                counted[refusal] += 1
            else:
                different.append(f"{ddl(kind)}: {value!r}\n{our} ({reason})\n{their}")
        print(number, dict(counted), f"{len(different)} differences", flush=True)
    assert counted["bad"] >= 0.3 * counted["values"]
    assert counted["values"] >= 0.9 * schemas * values
    assert counted["equal"] >= 0.95 * counted["values"]
    assert different == [], "\n".join(different[:10])


def documented(kind: Type, reason: str | None, is_bad: bool | None) -> str | None:
    """What the page says of a record that differs from Spark's: it is bad in any case."""
    if reason is None:
        return None
    if "not supported: " in reason:
        return reason.partition("not supported: ")[2]
    if "a control character is not escaped" in reason and "binary" in ddl(kind):
        return "a raw control character within Base64"
    is_malformed = reason.startswith("not JSON") and is_bad is not False
    return "malformed within a nested value" if is_malformed else None


def of_spark(
    spark: SparkSession, kind: Type, drawn: list[bytes]
) -> tuple[list[Any], list[bool] | list[None]]:
    numbers = pa.array(range(len(drawn)), pa.int32())
    frame = spark.createDataFrame(pa.table({"n": numbers, "value": pa.array(drawn, pa.binary())}))
    text = col("value").cast("string")
    found = frame.select("n", from_json(text, ddl(kind)).alias("found")).toArrow().sort_by("n")
    rows = plain(pa.concat_arrays(found["found"].chunks))
    if not isinstance(kind, Struct):
        return rows, [None] * len(rows)
    caught = frame.select("n", from_json(text, ddl(Struct((*kind.fields, CORRUPT)))).alias("found"))
    told = caught.selectExpr("n", "found._corrupt_record is not null as bad").toArrow()
    return rows, told.sort_by("n")["bad"].to_pylist()


def of_native(kind: Type, zone: str, drawn: list[bytes]) -> tuple[list[Any], list[str | None]]:
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in JsonParser(kind, zone).parse(pa.array(drawn, pa.binary())):
        piece.values.validate(full=True)
        rows += plain(piece.values)
        reasons += piece.reasons.to_pylist()
    return rows, reasons


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
