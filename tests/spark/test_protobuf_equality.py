"""Rows of Protobuf are those of Spark's from_protobuf, or are refused as docs/protobuf.md says.

Descriptors and messages are drawn by chance; more than half of the messages are damaged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import expr

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.kafka_source_jars import protobuf_jars

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
from pyspark_zkgroup.formats.protobuf.native import ProtobufParser
from pyspark_zkgroup.formats.protobuf.program import steps
from pyspark_zkgroup.formats.protobuf.sources import described, messages_of
from pyspark_zkgroup.formats.protobuf.types import spark_type
from tests.harness import drawn_protobuf
from tests.harness.equal_rows import Tally, frame_of, of_native, of_spark
from tests.harness.protobuf_rows import message_class
from tests.harness.small_spark import small_spark

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("default"),
]

SCHEMAS, VALUES, BROKEN, SEED = 300, 1000, 0.75, 7


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    try:
        jars = protobuf_jars(print)
    except SandboxError as error:
        pytest.skip(f"there is nothing to compare with: {error}")
    with small_spark(jars) as made:
        yield made


def test_rows_are_those_of_from_protobuf(spark: SparkSession, tmp_path: Path) -> None:
    tally = Tally()
    for number in range(SCHEMAS):
        chance = random.Random(SEED * 100_000 + number)
        data = drawn_protobuf.descriptor(chance)
        kind = message_class(data, drawn_protobuf.ROOT)
        drawn = [drawn_protobuf.value(chance, kind, BROKEN) for _ in range(VALUES)]
        ours, reasons = of_native(parser_of(data), drawn)
        frame = frame_of(spark, drawn)
        theirs = of_spark(frame, from_protobuf(frame, data, tmp_path / f"{number}.desc"))
        for value, our, their, reason in zip(drawn, ours, theirs, reasons, strict=True):
            is_late = reason is not None and reason.endswith("s are too many")
            refusal = "a time beyond the range of its type" if is_late else None
            tally.take(number, value, our, their, reason, refusal)
        tally.tell(number)
    tally.check()


def from_protobuf(frame: DataFrame, data: bytes, file: Path) -> Column:
    """With a type that may be null, as Arrow wants it: required fields of a bad record are."""
    file.write_bytes(data)
    options = "map('mode', 'PERMISSIVE')"
    read = expr(f"from_protobuf(value, '{drawn_protobuf.ROOT}', '{file}', {options})")
    return read.cast(frame.select(read.alias("found")).schema["found"].dataType.simpleString())


def parser_of(data: bytes) -> ProtobufParser:
    message = messages_of(described(data)).named(drawn_protobuf.ROOT)
    kind = spark_type(message)
    return ProtobufParser(kind, ProtobufFormat("value", None, tuple(steps(message, kind, "value"))))
