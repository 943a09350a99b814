"""A file that straddles a watermark is written again without the records that the table has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyspark_zkgroup.delta.direct.files import Files
from pyspark_zkgroup.delta.direct.rules import Cut, WrittenFile
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.schema import arrow_schema

ROWS = 10_000


def cut(target: Target, one: Cut) -> Iterator[WrittenFile]:
    """Return the files that hold the records from the cut on. The old one stays until VACUUM."""
    schema = arrow_schema(target.file_columns)
    files = Files(target)
    with pq.ParquetFile(Path(target.directory) / one.file.path) as source:
        for batch in source.iter_batches(ROWS):
            kept = batch.filter(pc.greater_equal(batch[target.offset_column], one.start))
            if kept.num_rows:
                rows = pa.RecordBatch.from_arrays(kept.columns, schema=schema)
                yield from files.add(one.file.log, one.file.partition_values, rows)
    yield from files.finish()
