"""The table: where it is, how it is made, and what it must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.delta.direct.deltars import WATERMARKED
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.errors import DeltaError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

WHOLE = ("smallint", "int", "bigint")
INDEXED_COLUMNS = 32
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
STATS_COUNT, STATS_NAMES = "delta.dataSkippingNumIndexedCols", "delta.dataSkippingStatsColumns"


@dataclass(frozen=True, slots=True)
class Table:
    """By its path, or by its name in the catalog; as it is, or as of one of its versions."""

    path: str | None = None
    name: str | None = None
    version: int | None = None

    def __str__(self) -> str:
        return self.path or self.name or ""

    def read(self, spark: SparkSession) -> DataFrame:
        if self.name is not None:
            return spark.read.table(self.name)
        reader = spark.read.format("delta")
        if self.version is not None:
            reader = reader.option("versionAsOf", self.version)
        return reader.load(str(self))

    def append(self, rows: DataFrame) -> None:
        writer = rows.write.format("delta").mode("append")
        writer.saveAsTable(self.name) if self.name is not None else writer.save(str(self))

    def exists(self, spark: SparkSession) -> bool:
        from delta.tables import DeltaTable

        if self.name is not None:
            return spark.catalog.tableExists(self.name)
        return DeltaTable.isDeltaTable(spark, str(self))

    def facts(self, spark: SparkSession) -> Mapping[str, Any]:
        from delta.tables import DeltaTable

        if self.name is not None:
            found = DeltaTable.forName(spark, self.name)
        else:
            found = DeltaTable.forPath(spark, str(self))
        return found.detail().collect()[0].asDict()

    def location(self, spark: SparkSession) -> str:
        """Raise DeltaError if the table of this name has another format."""
        if self.path is not None:
            return self.path
        facts = self.facts(spark)
        _check_format(str(self), facts)
        return str(facts["location"])

    def has_watermarks(self, spark: SparkSession) -> bool:
        """Return whether rows may only be appended by commits that move its marks."""
        path = str(self).replace("`", "``")
        name = self.name if self.name is not None else f"delta.`{path}`"
        shown = spark.sql(f"SHOW TBLPROPERTIES {name}").collect()
        return any(one["key"] == WATERMARKED for one in shown)

    def refuse_other_files(self, spark: SparkSession) -> None:
        """Raise DeltaError if the directory has files that readers would take for the table's."""
        jvm: Any = spark._jvm
        place = jvm.org.apache.hadoop.fs.Path(str(self))
        storage = place.getFileSystem(spark._jsc.hadoopConfiguration())
        if not storage.exists(place):
            return
        if storage.getFileStatus(place).isFile():
            raise DeltaError(f"{self} is a file", "Give the path of a directory")
        names = [str(status.getPath().getName()) for status in storage.listStatus(place)]
        if others := sorted(name for name in names if not name.startswith(("_", "."))):
            raise DeltaError(
                f"{self} holds no Delta table, but other files: {', '.join(others[:3])}",
                "Give another path, or make it a table: CONVERT TO DELTA parquet.`...`",
            )

    def make(self, like: DataFrame, keys: Keys) -> None:
        """Return the partitioning by which members that read different Kafka partitions do not
        conflict.
        """
        rows = like.sparkSession.createDataFrame([], like.schema).write.format("delta")
        rows = rows.partitionBy(keys.topic, keys.partition).mode("append")
        rows.saveAsTable(self.name) if self.name is not None else rows.save(str(self))


def check_own_place(path: str | None, checkpoint: str) -> None:
    """Their names are compared as they were given: a checkpoint below the table is common."""
    if path is not None and _plain_place(path) == _plain_place(checkpoint):
        raise OptionError.of("same_place", where=path)


def _plain_place(path: str) -> str:
    return "/" + path.removeprefix("file:").strip("/") if path.startswith(("file:", "/")) else path


def table(path: str | None, name: str | None) -> Table:
    if bool(path) == bool(name):
        raise OptionError(
            f"the Delta table is given by path={path!r} and table={name!r}",
            "Give exactly one: the path of its directory, or its name in the catalog",
        )
    return Table(path or None, name or None)


def check_batch(schema: StructType, keys: Keys) -> None:
    """Check the batch before anything is written."""
    _check_columns(schema, keys, "the batch", keys.record)
    if keys.epoch is not None and keys.epoch_column in schema.names:
        raise DeltaError(
            f"the batch already has a column {keys.epoch_column!r}, and epoch= was given",
            "Drop that column, or map epoch to another one by columns={'epoch': ...}",
        )


def check_table(where: str, schema: StructType, facts: Mapping[str, Any], keys: Keys) -> None:
    """Check what a table must have; `facts` as DESCRIBE DETAIL gives them."""
    _check_format(where, facts)
    _check_columns(schema, keys, where, keys.unique)
    partitioned: list[str] = list(facts["partitionColumns"])
    data = [field for field in schema.fields if field.name not in partitioned]
    if keys.offset not in partitioned and not _has_statistics(
        data, keys.offset, dict(facts.get("properties") or {})
    ):
        raise DeltaError(
            f"{where} keeps no statistics of its column {keys.offset!r}: "
            "each batch would be compared with all its files",
            f"ALTER TABLE ... SET TBLPROPERTIES ('{STATS_NAMES}' = "
            f"'{keys.topic},{keys.partition},{keys.offset}'), then ANALYZE TABLE ... "
            "COMPUTE DELTA STATISTICS; or have the column among the first ones of the table",
        )


def _check_format(where: str, facts: Mapping[str, Any]) -> None:
    if facts["format"] != "delta":
        raise DeltaError(
            f"{where} is a table in the format {facts['format']}", "Give a Delta table"
        )


def may_add_columns(spark: SparkSession) -> bool:
    return spark.conf.get(_AUTO_MERGE, "false") == "true"


def check_new_columns(where: str, there: StructType, schema: StructType) -> None:
    known = {name.lower() for name in there.names}
    if new := [name for name in schema.names if name.lower() not in known]:
        raise DeltaError(
            f"{where} has no column {', '.join(map(repr, new))}, which the frame has",
            "Drop it from the frame, add it to the table (ALTER TABLE ... ADD COLUMNS), or set "
            f"{_AUTO_MERGE}=true",
        )


def _check_columns(schema: StructType, keys: Keys, where: str, wanted: tuple[str, ...]) -> None:
    allowed = {
        keys.topic: ("string",),
        keys.partition: WHOLE,
        keys.offset: ("bigint",),
        keys.epoch_column: WHOLE,
    }
    for name in wanted:
        found = _type(schema, name)
        if found is None:
            raise DeltaError(
                f"{where} has no column {name!r}: it has {', '.join(schema.names) or 'none'}",
                "Each row must say which record it comes from. Add the column, or name the one "
                "that holds it by columns={'topic': ..., 'partition': ..., 'offset': ...}",
            )
        if found.simpleString() not in allowed[name]:
            raise DeltaError(
                f"the column {name!r} of {where} is {found.simpleString()}, "
                f"expected {' or '.join(allowed[name])}",
                "Cast it, or name another column by columns=",
            )


def _type(schema: StructType, name: str) -> DataType | None:
    return next((field.dataType for field in schema.fields if field.name == name), None)


def _has_statistics(data: list[StructField], column: str, properties: Mapping[str, str]) -> bool:
    if names := properties.get(STATS_NAMES):
        return column in [name.strip().strip("`") for name in names.split(",")]
    count = int(properties.get(STATS_COUNT, INDEXED_COLUMNS))
    before = 0
    for field in data:
        if field.name == column:
            break
        before += _leaves(field.dataType)
    return count < 0 or before < count


def _leaves(of: DataType) -> int:
    """Delta counts the columns within a struct one by one."""
    fields = json.loads(of.json())
    return _count(fields)


def _count(shown: Any) -> int:
    if isinstance(shown, dict) and shown.get("type") == "struct":
        return sum(_count(field["type"]) for field in shown["fields"])
    return 1
