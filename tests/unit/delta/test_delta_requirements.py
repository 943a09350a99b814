"""What a table and a batch must have, and the errors if they do not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pyspark_zkgroup.delta import ingest
from pyspark_zkgroup.delta.keys import keys
from pyspark_zkgroup.delta.table import check_batch, check_own_place, check_table, table
from pyspark_zkgroup.errors import DeltaError, OptionError

FULL = "value binary, topic string, partition int, offset bigint"


TYPES = {"binary": BinaryType(), "bigint": LongType(), "int": IntegerType(), "string": StringType()}


def schema(ddl: str) -> StructType:
    """A parser of DDL that needs no JVM."""
    columns = [column.split(" ") for column in ddl.split(", ")]
    return StructType([StructField(name, TYPES[kind]) for name, kind in columns])


def facts(*partitioned: str, form: str = "delta", **properties: str) -> dict[str, Any]:
    named = {f"delta.{name}": value for name, value in properties.items()}
    return {"format": form, "partitionColumns": list(partitioned), "properties": named}


@pytest.mark.parametrize(
    ("ddl", "columns", "epoch", "told"),
    [
        ("value binary", {}, None, r"the batch has no column 'topic': it has value\. .*columns="),
        ("topic string, partition int, offset int", {}, None, "'offset' of the batch is int"),
        ("topic string, partition string", {}, None, "is string, expected smallint or int or"),
        (FULL, {"offset": "at"}, None, "the batch has no column 'at'"),
        (FULL + ", epoch int", {}, 1, "the batch already has a column 'epoch'"),
    ],
)
def test_a_batch_that_does_not_say_which_records_it_holds(
    ddl: str, columns: dict[str, str], epoch: int | None, told: str
) -> None:
    with pytest.raises(DeltaError, match=told):
        check_batch(schema(ddl), keys(columns, epoch))


@pytest.mark.parametrize(
    ("ddl", "given", "epoch", "told"),
    [
        (FULL, facts(form="parquet"), None, "t is a table in the format parquet"),
        ("value binary", facts(), None, "t has no column 'topic'"),
        (FULL, facts(), 3, "t has no column 'epoch'"),
        (FULL, facts(dataSkippingNumIndexedCols="3"), None, "t keeps no statistics of its column"),
        (FULL, facts(dataSkippingStatsColumns="topic"), None, "t keeps no statistics"),
        (
            ", ".join(f"c{n} int" for n in range(30)) + ", " + FULL,
            facts(),
            None,
            "'delta.dataSkippingStatsColumns' = 'topic,partition,offset'",
        ),
    ],
)
def test_a_table_that_lacks_what_it_must_have(
    ddl: str, given: dict[str, Any], epoch: int | None, told: str
) -> None:
    with pytest.raises(DeltaError, match=told):
        check_table("t", schema(ddl), given, keys(None, epoch))


@pytest.mark.parametrize(
    ("ddl", "given"),
    [
        (FULL, facts()),
        (FULL, facts("topic", "partition", dataSkippingNumIndexedCols="2")),
        (FULL, facts(dataSkippingNumIndexedCols="-1")),
        (FULL, facts(dataSkippingStatsColumns="`offset`, value")),
        (", ".join(f"c{n} int" for n in range(30)) + ", " + FULL, facts("topic", "value")),
    ],
)
def test_tables_that_will_do(ddl: str, given: dict[str, Any]) -> None:
    check_table("t", schema(ddl), given, keys(None, None))


def test_columns_within_a_struct_count_one_by_one() -> None:
    inner = StructType([StructField(f"c{n}", IntegerType()) for n in range(32)])
    wide = StructType([StructField("facts", inner), *schema(FULL).fields])
    with pytest.raises(DeltaError, match="keeps no statistics"):
        check_table("t", wide, facts(), keys(None, None))


@pytest.mark.parametrize(
    ("path", "checkpoint", "is_own"),
    [
        ("/data/t", "/data/t/", False),
        ("/data/t", "file:///data/t", False),
        ("s3a://b/t", "s3a://b/t", False),
        ("/data/t", "/data/t/_checkpoint", True),
        (None, "/data/t", True),
    ],
)
def test_a_table_and_its_querys_checkpoint_have_a_place_each(
    path: str | None, checkpoint: str, is_own: bool
) -> None:
    if is_own:
        check_own_place(path, checkpoint)
        return
    with pytest.raises(OptionError, match="are the same directory"):
        check_own_place(path, checkpoint)


def test_ingest_refuses_another_checkpoint_in_its_options() -> None:
    spark: Any = None
    with pytest.raises(OptionError, match="'/c/1', but the query has '/c/2'"):
        ingest(spark, {"checkpointLocation": "/c/1"}, "/data/t", checkpointLocation="/c/2")


def test_keys_and_table_are_given_in_a_way_that_can_be_meant() -> None:
    with pytest.raises(OptionError, match="columns= names 'ofset'"):
        keys({"ofset": "o"}, None)
    with pytest.raises(OptionError, match="the same column of the table"):
        keys({"topic": "offset"}, None)
    for epoch in (-1, True, "2"):
        with pytest.raises(OptionError, match="which is no epoch"):
            keys(None, epoch)  # type: ignore[arg-type]
    for path, name in ((None, None), ("/a", "b"), ("", None)):
        with pytest.raises(OptionError, match="Give exactly one"):
            table(path, name)
    assert str(table("/a", None)) == "/a"
    assert str(table(None, "a.b")) == "a.b"
    assert keys({"offset": "o"}, 4).unique == ("topic", "partition", "o", "epoch")
