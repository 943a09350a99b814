from __future__ import annotations

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from pyspark_zkgroup.schema import SPARK_DDL, arrow_schema

# What Spark's own parser, which needs a JVM, makes of these words.
_TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "long": LongType(),
    "timestamp": TimestampType(),
}


def test_columns_are_what_spark_expects_for_the_ddl() -> None:
    spark = StructType()
    for column in SPARK_DDL.split(", "):
        name, word = column.split(" ")
        spark.add(name, _TYPES[word])
    assert arrow_schema() == to_arrow_schema(spark, timezone="UTC")
