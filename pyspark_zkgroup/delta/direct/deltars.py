"""The table as delta-rs sees it: opened, created, its watermarks read, files committed to it."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.rules import Log, WrittenFile
from pyspark_zkgroup.errors import DependencyError

if TYPE_CHECKING:
    from deltalake import DeltaTable, Transaction

    from pyspark_zkgroup.schema import Column

WATERMARKED, VERSION = "zkgroup.watermarks", "1"
"""The table's property that says that every record in it is below a watermark."""


def check_installed() -> None:
    if find_spec("deltalake") is None:
        raise DependencyError.of("deltalake_missing")


def opened(directory: str) -> DeltaTable | None:
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(directory):
        return None
    return DeltaTable(directory)


def described(table: DeltaTable) -> Described:
    protocol, metadata = table.protocol(), table.metadata()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return Described(
        schema=json.loads(table.schema().to_json()),
        partitioned_by=tuple(metadata.partition_columns),
        properties=dict(metadata.configuration),
        features=frozenset(features),
    )


def created(directory: str, columns: tuple[Column, ...], partitioned_by: list[str]) -> None:
    """Create the table with the property that it has watermarks."""
    from deltalake import DeltaTable, Schema

    from pyspark_zkgroup.schema import arrow_schema

    DeltaTable.create(
        directory,
        Schema.from_arrow(arrow_schema(columns)),
        mode="error",
        partition_by=partitioned_by,
        configuration={WATERMARKED: VERSION},
        raise_if_key_not_exists=False,
    )


def taken_over(table: DeltaTable, watermarks: Mapping[str, int]) -> None:
    """Give a table its first watermarks. Fails where anything else was committed meanwhile that
    could have moved them.
    """
    from deltalake import CommitProperties

    table.alter.set_table_properties(
        {WATERMARKED: VERSION},
        raise_if_not_exists=False,
        commit_properties=CommitProperties(
            app_transactions=_transactions(watermarks), max_commit_retries=0
        ),
    )


def highest_offsets(
    table: DeltaTable, names: tuple[str, str, str], epoch_column: str | None
) -> dict[tuple[str | None, int | None, int | None], int | None]:
    """Return the highest offset of each topic, partition and epoch that the table's rows have."""
    from deltalake import QueryBuilder

    topic, partition, offset = (_quoted(name) for name in names)
    epoch = _quoted(epoch_column) if epoch_column else "CAST(NULL AS BIGINT)"
    query = (
        f"SELECT {topic} AS t, CAST({partition} AS BIGINT) AS p, CAST({epoch} AS BIGINT) AS e, "
        f"MAX({offset}) AS o FROM rows_of_table GROUP BY 1, 2, 3"
    )
    found = QueryBuilder().register("rows_of_table", table).execute(query).read_all()
    columns = [found.column(name).to_pylist() for name in ("t", "p", "e", "o")]
    return {(t, p, e): o for t, p, e, o in zip(*columns, strict=True)}


def watermarks(table: DeltaTable, logs: Collection[Log], epoch: int | None) -> dict[Log, int]:
    found = {log: table.transaction_version(application(log, epoch)) for log in logs}
    return {log: version for log, version in found.items() if version is not None}


def commit(
    table: DeltaTable,
    files: Iterable[WrittenFile],
    advance: Mapping[Log, int],
    epoch: int | None,
) -> None:
    """Add the files and move the watermarks in one commit, unless one of them has moved."""
    from deltalake import CommitProperties
    from deltalake.transaction import AddAction

    now_ms = int(time.time() * 1000)
    actions: list[Any] = [
        AddAction(one.path, one.bytes, dict(one.partition_values), now_ms, True, one.stats)
        for one in files
    ]
    moved = {application(log, epoch): version for log, version in advance.items()}
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        list(table.metadata().partition_columns),
        commit_properties=CommitProperties(app_transactions=_transactions(moved)),
    )


def application(log: Log, epoch: int | None) -> str:
    """Return the application id of a watermark. No name of a topic has a colon."""
    return f"zkgroup:{'' if epoch is None else epoch}:{log.topic}:{log.partition}:{log.topic_id}"


def _transactions(versions: Mapping[str, int]) -> list[Transaction]:
    from deltalake import Transaction

    now_ms = int(time.time() * 1000)
    return [Transaction(name, version, now_ms) for name, version in sorted(versions.items())]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
