"""Rewrites a file that may hold records that the table has, without those records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.files import Files
from pyspark_zkgroup.delta.direct.rules import Cut, WrittenFile
from pyspark_zkgroup.delta.direct.storage import files_in
from pyspark_zkgroup.delta.direct.takeover import KEYS, missing_keys
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import arrow_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

ROWS = 10_000


NOTHING = pa.array([], pa.int64())


def cut(target: Target, one: Cut, has: pa.Array = NOTHING) -> Iterator[WrittenFile]:
    """Return the files that hold the records from the cut on, without those at the offsets that the
    table has. An old file that is not among them stays until VACUUM.
    """
    if one.start <= one.file.first and len(has) == 0:
        yield one.file
        return
    schema = arrow_schema(target.file_columns)
    files = Files(target)
    places = files_in(target.directory, target.storage)
    with places.open(one.file.path) as opened, pq.ParquetFile(opened) as source:
        for batch in source.iter_batches(ROWS):
            offsets = batch[target.offset_column]
            kept = batch.filter(
                pc.and_(
                    pc.greater_equal(offsets, one.start),
                    pc.invert(pc.is_in(offsets, value_set=has)),
                )
            )
            if kept.num_rows:
                rows = pa.RecordBatch.from_arrays(kept.columns, schema=schema)
                yield from files.add(one.file.log, one.file.partition_values, rows)
    yield from files.finish()


def has_rows(table: DeltaTable, target: Target, one: Cut) -> pa.Array:
    """Return the offsets at which the table has rows that other writers have appended.
    DeltaError where it does not tell.
    """
    within = one.looked_at
    if len(within) == 0:
        return NOTHING
    if missing := missing_keys(deltars.described(table), KEYS):
        raise DeltaError.of("cannot_compare", where=target.directory, columns=", ".join(missing))
    epoch = None if target.epoch is None else (target.epoch_column, target.epoch)
    return deltars.offsets_in(table, KEYS, one.file.log.of, within, epoch)
