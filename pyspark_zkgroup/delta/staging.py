"""Files that Spark writes for one commit, apart from the table's until they are moved to them.

A driver that is killed leaves files here, or in the table's directories, that no commit names.
VACUUM removes them as it removes any other file of that kind.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark_zkgroup.delta.direct.files import directory_of
from pyspark_zkgroup.delta.direct.statistics import statistics
from pyspark_zkgroup.errors import DeltaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Not hidden, so that VACUUM finds what is left over.
STAGING = "zkgroup-staging"
_NULL = "__HIVE_DEFAULT_PARTITION__"
# What the JVM writes for characters that its encoding of file names lacks: ASCII, where no locale
# is set. Spark escapes a question mark of the value itself. Surrogates are bytes that are no UTF-8.
_UNWRITTEN = re.compile("[?\ud800-\udfff]")
# Of the years 1 to 9999. Spark writes a sign before the others, but not before the year 0.
_DATE = re.compile(r"(?!0000)\d{4}-\d\d-\d\d")
_TIMESTAMPS, _MICROS = "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"

Values = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class StagedFile:
    """`path` is where the file will be in the table."""

    path: str
    staged: Path
    bytes: int
    partition_values: Values
    stats: str


@contextmanager
def staged(
    rows: DataFrame, directory: Path, partitioned_by: Mapping[str, str], indexed: tuple[str, ...]
) -> Iterator[list[StagedFile]]:
    """Write the rows; what is not moved is deleted afterwards. `partitioned_by` maps the names of
    partition columns to their types.
    """
    place = directory / STAGING / uuid.uuid4().hex
    try:
        with _timestamps_with_bounds(rows.sparkSession):
            writer = rows.write
            if partitioned_by:
                writer = writer.partitionBy(*partitioned_by)
            writer.parquet(str(place))
        yield list(_described(place, partitioned_by, indexed))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def move(files: list[StagedFile], directory: Path) -> None:
    """Move them into the table, where a commit may name them."""
    for one in files:
        place = directory / one.path
        place.parent.mkdir(parents=True, exist_ok=True)
        one.staged.rename(place)


def values_of(relative: Path, partitioned_by: Mapping[str, str]) -> Values:
    """Return the partition values that Spark has put into the names of directories. A date that not
    every reader can parse is null, as for `delta.ingest`: delta-rs could no longer open the table.
    DeltaError where the JVM could not write all characters of a value.
    """
    parts = [part.partition("=")[2] for part in relative.parts]
    for name, part in zip(partitioned_by, parts, strict=True):
        if _UNWRITTEN.search(part):
            raise DeltaError.of("unwritten_characters", column=name, value=ascii(part))
    return tuple(
        (name, _value(unquote(part), kind))
        for (name, kind), part in zip(partitioned_by.items(), parts, strict=True)
    )


def _value(text: str, kind: str) -> str | None:
    is_read_by_all = kind != "date" or _DATE.fullmatch(text)
    return text if text != _NULL and is_read_by_all else None


def _described(
    place: Path, partitioned_by: Mapping[str, str], indexed: tuple[str, ...]
) -> Iterator[StagedFile]:
    import pyarrow.parquet as pq

    for file in sorted(place.rglob("*.parquet")):
        metadata = pq.read_metadata(file)
        if metadata.num_rows == 0:
            continue
        values = values_of(file.relative_to(place).parent, partitioned_by)
        # Spark names the files of a task alike in all directories, and ours are shortened.
        name = f"part-{uuid.uuid4()}.parquet"
        yield StagedFile(
            path="/".join([*(directory_of(*one) for one in values), name]),
            staged=file,
            bytes=file.stat().st_size,
            partition_values=values,
            stats=statistics(metadata, indexed),
        )


@contextmanager
def _timestamps_with_bounds(spark: SparkSession) -> Iterator[None]:
    """Spark's default type for timestamps in Parquet has no statistics."""
    if spark.conf.get(_TIMESTAMPS, "INT96") != "INT96":
        yield
        return
    spark.conf.set(_TIMESTAMPS, _MICROS)
    try:
        yield
    finally:
        spark.conf.unset(_TIMESTAMPS)
