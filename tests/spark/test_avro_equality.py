"""Rows of Avro are those of Spark's from_avro, or are refused as docs/formats.md says.

Schemas and values are drawn by chance; a third of the values is damaged.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro

from zkgroup_sandbox.kafka_source_jars import avro_jars

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.avro.native import AvroParser
from pyspark_zkgroup.formats.avro.schema import Schema
from pyspark_zkgroup.formats.avro.types import spark_type
from pyspark_zkgroup.formats.avro.writers import OneWriter
from pyspark_zkgroup.registry.access import RegisteredSchema
from tests.harness import drawn_avro
from tests.harness.plain_rows import plain

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("default"),
]

SCHEMAS, VALUES, BROKEN, SEED = 300, 1000, 0.6, 7
# A length that lies would take the memory of Spark's driver.
LIMITS = " ".join(
    f"-Dorg.apache.avro.limits.{name}.maxLength=1000000"
    for name in ("string", "bytes", "collectionItems")
)
DOCUMENTED = (
    "a boolean in it is the byte",
    "a map in it has one key twice",
    "no decimal of",
    "a block in it claims 2^63 elements",
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars", ",".join(map(str, avro_jars(print))))
        .config("spark.driver.extraJavaOptions", LIMITS)
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    yield made
    made.stop()


def test_rows_are_those_of_from_avro(spark: SparkSession) -> None:
    counted: Counter[str] = Counter()
    different: list[str] = []
    for number in range(SCHEMAS):
        chance = random.Random(SEED * 100_000 + number)
        found = drawn_avro.schema(chance)
        if isinstance(found, list):
            # Spark gives 0 for null there, and nothing of any branch where there are several.
            fields = [{"name": "f", "type": found}]
            found = {"type": "record", "name": "R", "fields": fields}
        schema = drawn_avro.parsed(found)
        drawn = [drawn_avro.value(chance, found, schema, BROKEN) for _ in range(VALUES)]
        ours, reasons = of_native(found, schema, drawn)
        theirs = of_spark(spark, found, drawn)
        for value, our, their, reason in zip(drawn, ours, theirs, reasons, strict=True):
            counted["values"] += 1
            counted["bad"] += reason is not None
            refusal = next((one for one in DOCUMENTED if reason and one in reason), None)
            if our == their:
                counted["equal"] += 1
            elif refusal is not None:
                counted[refusal] += 1
            else:
                different.append(f"{found}: {value!r}\n{our} ({reason})\n{their}")
        print(number, dict(counted), f"{len(different)} differences", flush=True)
    assert counted["bad"] >= 0.3 * counted["values"]
    assert counted["equal"] >= 0.95 * counted["values"]
    assert different == [], "\n".join(different[:10])


def of_spark(spark: SparkSession, found: Any, drawn: list[bytes]) -> list[Any]:
    numbers = pa.array(range(len(drawn)), pa.int32())
    frame = spark.createDataFrame(pa.table({"n": numbers, "value": pa.array(drawn, pa.binary())}))
    read = from_avro("value", json.dumps(found), {"mode": "PERMISSIVE"}).alias("found")
    rows = frame.select("n", read).toArrow().sort_by("n")
    return plain(pa.concat_arrays(rows["found"].chunks))


def of_native(found: Any, schema: Schema, drawn: list[bytes]) -> tuple[list[Any], list[str | None]]:
    text = json.dumps(found)
    parser = AvroParser(
        spark_type(schema), "value", "plain", OneWriter(RegisteredSchema(text), "plain")
    )
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in parser.parse(pa.array(drawn, pa.binary())):
        piece.values.validate()
        rows += plain(piece.values)
        reasons += piece.reasons.to_pylist()
    return rows, reasons
