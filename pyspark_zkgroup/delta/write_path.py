"""Decides how appends to a table are made, and makes the table where there is none.

A table on a local disk that files can be added to keeps bounds (bounded.py). Spark writes to the
others, and each batch is compared with their rows.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.delta import suited
from pyspark_zkgroup.delta.bounded import BoundedTable, LostCommitError
from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.takeover import take_over
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.lock import alone, local_directory
from pyspark_zkgroup.delta.table import Table, check_table, may_add_columns
from pyspark_zkgroup.errors import DeltaError

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("pyspark_zkgroup.delta")


@dataclass(slots=True)
class WritePath:
    """`bounded` is None where Spark commits. `files` counts the table's, for Delta's replay."""

    location: str
    files: int = 0
    bounded: BoundedTable | None = None
    batches: int = 0


def write_path(batch: DataFrame, target: Table, by: Keys, *, has_plan: bool) -> WritePath:
    """Make the table where there is none, and check the one there is. Only batches that have a plan
    give a table bounds: they begin where the bounds are.
    """
    spark = batch.sparkSession
    _make(batch, target, by, has_plan=has_plan)
    location = target.location(spark)
    directory = local_directory(spark, location)
    table, reasons = _opened(directory)
    if table is None or directory is None:
        return _through_spark(spark, target, by, location, reasons)
    fields = batch.schema.jsonValue()["fields"]
    found = deltars.described(table)
    _check(target, found, by)
    reasons = suited.obstacles(found, fields, by)
    is_bounded = deltars.keeps_marks(table, found)
    is_wanted = has_plan or deltars.WATERMARKED in found.properties  # a clone has the property
    may_evolve = is_wanted and may_add_columns(spark) and not suited.obstacles(found, [], by)
    if reasons and may_evolve:
        with alone(spark, location):
            target.append(batch.limit(0))
        table.update_incremental()
        found = deltars.described(table)
        reasons = suited.obstacles(found, fields, by)
    if not reasons and not is_bounded and is_wanted:
        reasons = _taken_over(spark, location, by)
        is_bounded = not reasons
    if reasons or not is_bounded:
        return _through_spark(spark, target, by, location, reasons)
    return WritePath(location, bounded=BoundedTable(directory, by, batch))


def check_existing(
    spark: SparkSession, target: Table, by: Keys, fields: Sequence[Mapping[str, Any]] = ()
) -> None:
    """DeltaError unless rows with these keys and columns can be appended to the table as it is
    now.
    """
    table, reasons = _opened(local_directory(spark, target.location(spark)))
    if table is not None:
        found = deltars.described(table)
        _check(target, found, by)
        reasons = suited.obstacles(found, fields, by)
        if deltars.WATERMARKED not in found.properties or not reasons:
            return
        if not suited.obstacles(found, [], by):
            raise DeltaError.of("other_columns", where=target, found=", ".join(reasons))
    else:
        check_table(str(target), target.read(spark).schema, target.facts(spark), by)
        if not target.has_watermarks(spark):
            return
    raise DeltaError.of("unsuited", where=target, found=", ".join(reasons))


def _opened(directory: Path | None) -> tuple[DeltaTable | None, list[str]]:
    """Return the table as delta-rs sees it, or why it does not."""
    if directory is None:
        return None, ["its place, which is not a local disk"]
    if find_spec("deltalake") is None:
        return None, ["the missing Python package deltalake"]
    from deltalake.exceptions import DeltaError as DeltaRsError

    try:
        return deltars.opened(str(directory)), ["its log, which delta-rs does not find"]
    except DeltaRsError as error:
        return None, [f"what delta-rs cannot read ({error})"]
    except DeltaError as error:
        return None, [f"its name ({error.what})"]


def _through_spark(
    spark: SparkSession, target: Table, by: Keys, location: str, reasons: list[str]
) -> WritePath:
    if target.has_watermarks(spark):
        raise DeltaError.of("unsuited", where=target, found=", ".join(reasons))
    facts = target.facts(spark)
    check_table(str(target), target.read(spark).schema, facts, by)
    if reasons:
        _log.info(
            "Comparing each batch with the rows of %s, because of %s", target, ", ".join(reasons)
        )
    return WritePath(location, int(facts["numFiles"] or 0))


def _check(target: Table, found: Described, by: Keys) -> None:
    from pyspark.sql.types import StructType

    facts = {
        "format": "delta",
        "partitionColumns": found.partitioned_by,
        "properties": found.properties,
    }
    check_table(str(target), StructType.fromJson(dict(found.schema)), facts, by)


def _taken_over(spark: SparkSession, location: str, by: Keys) -> list[str]:
    """Give the table bounds; return why it cannot have any."""
    from deltalake.exceptions import DeltaError as DeltaRsError

    directory = local_directory(spark, location)
    with alone(spark, location):
        table = deltars.opened(str(directory))
        if table is None:
            raise DeltaError.of("table_gone", where=location)
        try:
            take_over(table, by.record, by.epoch_column, location)
        except DeltaError as error:
            return [f"its rows ({error.what})"]
        except (DeltaRsError, OSError) as error:
            raise LostCommitError(str(error)) from error
    return []


def _make(batch: DataFrame, target: Table, by: Keys, *, has_plan: bool) -> None:
    spark = batch.sparkSession
    if target.path is None:
        if not target.exists(spark):
            target.make(batch, by)
        return
    directory = local_directory(spark, target.path)
    if directory is not None and any((directory / "_delta_log").glob("[0-9]*")):
        return
    if target.exists(spark):
        return
    target.refuse_other_files(spark)
    with alone(spark, target.path):
        if target.exists(spark):
            return
        is_reached = directory is not None and not deltars.misread(str(directory))
        if is_reached and has_plan and (schema := _plain_schema(batch)):
            deltars.created(str(directory), schema, [by.topic, by.partition])
        else:
            target.make(batch, by)


_PLAIN = (
    *("string", "binary", "boolean", "byte", "short", "integer", "long", "float", "double"),
    *("date", "timestamp"),
)
_DEFAULTS = "spark.databricks.delta.properties.defaults."


def _plain_schema(batch: DataFrame) -> str | None:
    """Return a schema that delta-rs can create a table with as Spark would: nothing in it needs a
    feature of the table, and the session asks for no properties of new tables.
    """
    spark = batch.sparkSession
    if find_spec("deltalake") is None:
        return None
    if any(name.startswith(_DEFAULTS) for name in spark.conf.getAll):
        return None
    schema = _nullable(batch.schema.jsonValue())
    return None if schema is None else json.dumps(schema)


def _nullable(kind: Any) -> Any:
    """Return a type whose fields may be null; None where it is not plain."""
    if isinstance(kind, str):
        return kind if kind in _PLAIN or kind.startswith("decimal(") else None
    found = dict(kind)
    for name in ("elementType", "keyType", "valueType"):
        if name in found:
            found[name] = _nullable(found[name])
    for name in ("containsNull", "valueContainsNull"):
        if name in found:
            found[name] = True
    if "fields" in found:
        found["fields"] = [
            {**one, "type": _nullable(one["type"]), "nullable": True} for one in kind["fields"]
        ]
        if any(one["type"] is None or one["metadata"] for one in found["fields"]):
            return None
    return None if any(value is None for value in found.values()) else found
