"""A Python source that does nothing: each task yields one Arrow batch that was ready before. What
its micro-batches cost is Spark's own part of any Python source's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from pyspark_zkgroup.schema import COLUMNS, arrow_schema, spark_ddl

_ready: dict[int, pa.RecordBatch] = {}


class ReadyPartition(InputPartition):
    def __init__(self, rows: int) -> None:
        super().__init__(None)
        self.rows = rows


class ReadyReader(DataSourceStreamReader):
    def __init__(self, rows: int, tasks: int) -> None:
        self.rows, self.tasks = rows, tasks

    def initialOffset(self) -> dict[str, int]:
        return {"rows": 0}

    def latestOffset(
        self, start: dict[str, int] | None = None, limit: object = None
    ) -> dict[str, int]:
        assert start is not None, "the bench runs on Spark 4.2 or later"
        return {"rows": start["rows"] + self.rows}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [ReadyPartition(self.rows // self.tasks) for _ in range(self.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadyPartition)
        if partition.rows not in _ready:
            _ready[partition.rows] = _make(partition.rows)
        yield _ready[partition.rows]


class ReadySource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "zkgroup-bench-ready"

    def schema(self) -> str:
        return spark_ddl(COLUMNS)

    def streamReader(self, schema: Any) -> ReadyReader:
        return ReadyReader(int(self.options["rows"]), int(self.options["tasks"]))


def _make(rows: int) -> pa.RecordBatch:
    row = {
        "key": b"k" * 10,
        "value": b"v" * 90,
        "topic": "ready",
        "partition": 0,
        "offset": 0,
        "timestamp": 0,
        "timestampType": 0,
    }
    schema = arrow_schema(COLUMNS)
    columns = [pa.array([row[field.name]] * rows, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
