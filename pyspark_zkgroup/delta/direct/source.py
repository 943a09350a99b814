"""The source of `delta.ingest`: a zkgroup source whose tasks write files and return what describes
them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource

from pyspark_zkgroup.delta.direct.descriptions import COLUMNS
from pyspark_zkgroup.delta.direct.storage import LOCAL, Storage
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.schema import spark_ddl

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pyspark_zkgroup.spark.source import ZkGroupStreamReader

NAME = "zkgroup_files"
SCHEMA, TARGET = "ingest.schema", "ingest.target"


def given(target: Target, schema: str) -> dict[str, str]:
    """Return the options that carry a target and the JSON of its rows' schema to the source."""
    return {TARGET: target.as_json(), SCHEMA: schema}


class FilesSource(DataSource):
    """`spark.readStream.format("zkgroup_files")`, which `delta.ingest` registers."""

    storage: ClassVar[Storage] = LOCAL

    def __init__(self, options: dict[str, str]) -> None:
        from pyspark_zkgroup.spark.source import DefaultSource

        super().__init__(options)
        self._target = replace(Target.of_json(options.get(TARGET, "null")), storage=self.storage)
        self._schema = options[SCHEMA]
        read = {name: value for name, value in options.items() if name not in (SCHEMA, TARGET)}
        self._source = DefaultSource(read)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return spark_ddl(COLUMNS)

    def streamReader(self, schema: StructType) -> ZkGroupStreamReader:
        from pyspark.sql.types import StructType as Row

        from pyspark_zkgroup.delta.direct.writing import IntoFiles

        reader = self._source.streamReader(Row.fromJson(json.loads(self._schema)))
        reader.output = IntoFiles(self._target)
        return reader


def source_for(storage: Storage) -> type[FilesSource]:
    """Return a source whose tasks reach a store. Spark keeps the class, pickled with the storage,
    and shows of it the name only. Options of the source it would show.
    """
    if storage == LOCAL:
        return FilesSource
    return type("StoredFilesSource", (FilesSource,), {"storage": storage})
