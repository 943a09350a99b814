"""Rows of Avro are those of Spark's from_avro, or are refused as docs/formats.md says.

Schemas and values are drawn by chance; a third of the values is damaged.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

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
from tests.harness.equal_rows import Tally, frame_of, of_native, of_spark
from tests.harness.evolved_avro import EVOLVED, Evolved
from tests.harness.small_spark import small_spark

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
    with small_spark(avro_jars(print), spark_driver_extraJavaOptions=LIMITS) as made:
        yield made


def test_rows_are_those_of_from_avro(spark: SparkSession) -> None:
    tally = Tally()
    for number in range(SCHEMAS):
        chance = random.Random(SEED * 100_000 + number)
        found = drawn_avro.schema(chance)
        if isinstance(found, list):
            # Spark gives 0 for null there, and nothing of any branch where there are several.
            fields = [{"name": "f", "type": found}]
            found = {"type": "record", "name": "R", "fields": fields}
        schema = drawn_avro.parsed(found)
        drawn = [drawn_avro.value(chance, found, schema, BROKEN) for _ in range(VALUES)]
        ours, reasons = of_native(parser_of(found, schema), drawn)
        read = from_avro("value", json.dumps(found), {"mode": "PERMISSIVE"})
        theirs = of_spark(frame_of(spark, drawn), read)
        for value, our, their, reason in zip(drawn, ours, theirs, reasons, strict=True):
            refusal = next((one for one in DOCUMENTED if reason and one in reason), None)
            tally.take(found, value, our, their, reason, refusal)
        tally.tell(number)
    tally.check()


@pytest.mark.parametrize("case", EVOLVED, ids=[case.about for case in EVOLVED])
def test_writers_become_the_columns_as_in_from_avro(spark: SparkSession, case: Evolved) -> None:
    with_reader = {"mode": "PERMISSIVE", "avroSchema": json.dumps(case.reader)}
    read = from_avro("value", json.dumps(case.writer), with_reader)
    (row,) = of_spark(frame_of(spark, [case.value]), read)
    assert row == (case.row or dict.fromkeys(row))


def parser_of(found: Any, schema: Schema) -> AvroParser:
    writer = OneWriter(RegisteredSchema(json.dumps(found)), "plain")
    return AvroParser(spark_type(schema), "value", "plain", writer)
