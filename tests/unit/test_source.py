"""What Spark meets first: the schema at `load()`, and what a reader is refused for. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.schema import spark_ddl
from pyspark_zkgroup.spark.source import DefaultSource
from tests.harness.given_options import LEAST

COLUMNS = (
    StructType()
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("offset", LongType())
    .add("timestamp", TimestampType())
    .add("timestampType", IntegerType())
)
HEADER = StructType().add("key", StringType()).add("value", BinaryType())
WITH_HEADERS = StructType([*COLUMNS.fields]).add("headers", ArrayType(HEADER))

Reader = Callable[[DefaultSource, StructType], Any]
READERS = pytest.mark.parametrize("reader", [DefaultSource.streamReader, DefaultSource.reader])


def source(**options: str) -> DefaultSource:
    return DefaultSource({**LEAST, **options})


def test_the_schema_is_known_at_load_and_headers_are_asked_for() -> None:
    assert source().schema() == spark_ddl()
    assert source(INCLUDEHEADERS="True").schema() == spark_ddl(headers=True)


def test_a_wrong_option_fails_at_load() -> None:
    with pytest.raises(OptionError, match="'thraeds'"):
        source(thraeds="4").schema()


@READERS
def test_the_rows_own_schema_is_taken(reader: Reader) -> None:
    assert reader(source(), COLUMNS)
    assert reader(source(includeHeaders="true"), WITH_HEADERS)


@READERS
@pytest.mark.parametrize(
    ("given", "headers"),
    [
        (StructType().add("value", StringType()), "false"),
        (StructType(COLUMNS.fields[::-1]), "false"),
        (WITH_HEADERS, "false"),
        (COLUMNS, "true"),
    ],
)
def test_a_schema_of_the_users_is_refused(reader: Reader, given: StructType, headers: str) -> None:
    with pytest.raises(OptionError) as caught:
        reader(source(includeHeaders=headers), given)
    assert f"fixed schema {spark_ddl(headers == 'true')}" in caught.value.what
    assert "Leave out .schema(...)" in caught.value.remedy


@pytest.mark.parametrize(
    "limits",
    [{"maxOffsetsPerTrigger": "9"}, {"maxBytesPerTrigger": "1m", "maxOffsetsPerTrigger": "9"}],
)
def test_a_limit_on_a_spark_that_does_not_tell_the_trigger(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, str]
) -> None:
    """Else a job whose one batch is cut would end as if it had read everything."""
    source(**limits).streamReader(COLUMNS)
    monkeypatch.setattr("pyspark_zkgroup.spark.source.HAS_ADMISSION_CONTROL", False)
    with pytest.raises(OptionError) as caught:
        source(**limits).streamReader(COLUMNS)
    assert all(name in caught.value.what for name in limits)
    assert "'endsByItself' is true for such a query" in caught.value.remedy
    for told in ("true", "false"):
        source(**limits, endsByItself=told).streamReader(COLUMNS)
    source(minOffsetsPerTrigger="9").streamReader(COLUMNS)
    source(**limits).reader(COLUMNS)


@pytest.mark.parametrize("writer", [DefaultSource.writer, DefaultSource.streamWriter])
def test_it_writes_nothing(writer: Callable[..., Any]) -> None:
    with pytest.raises(PySparkNotImplementedError):
        writer(source(), COLUMNS, False)
