from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from pyspark_zkgroup.schema import COLUMNS, WITH_HEADERS, Column, arrow_schema, spark_ddl

# What Spark's own parser, which needs a JVM, makes of these words.
_TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "array<struct<key:string,value:binary>>": ArrayType(
        StructType().add("key", StringType()).add("value", BinaryType())
    ),
}


@pytest.mark.parametrize("columns", [COLUMNS, WITH_HEADERS, COLUMNS[2:4]], ids=len)
def test_columns_are_what_spark_expects_for_the_ddl(columns: tuple[Column, ...]) -> None:
    spark = StructType()
    for column in spark_ddl(columns).split(", "):
        name, word = column.split(" ")
        spark.add(name, _TYPES[word])
    assert arrow_schema(columns).equals(to_arrow_schema(spark, timezone="UTC"), check_metadata=True)
