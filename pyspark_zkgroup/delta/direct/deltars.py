"""The table as delta-rs sees it: opened, created, its watermarks read, files committed to it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.direct.storage import LOCAL, Storage, is_object_store
from pyspark_zkgroup.errors import DeltaError, DependencyError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable, Transaction

WATERMARKED, VERSION = "zkgroup.watermarks", "1"
"""The table's property that says that every record in it is below a watermark or a bound."""
MARKED = "zkgroup-marks"
"""An application transaction that says so of this very table. A CLONE has a copy of the property,
but none of the marks.
"""
# delta-rs decodes an escape and takes a backslash for a slash. Control characters it refuses.
_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|[\\\x00-\x1f\x7f]")


class AddedFile(Protocol):
    """What a commit records of a file."""

    @property
    def path(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def partition_values(self) -> tuple[tuple[str, str | None], ...]: ...
    @property
    def stats(self) -> str: ...


def check_installed() -> None:
    if find_spec("deltalake") is None:
        raise DependencyError.of("deltalake_missing")


def misread(directory: str) -> str | None:
    """Return what makes delta-rs look for the table's log in another directory, if anything."""
    found = None if is_object_store(directory) else _MISREAD.search(directory)
    return None if found is None else found[0]


def opened(directory: str, storage: Storage = LOCAL) -> DeltaTable | None:
    """Return the table, if there is one. DeltaError if its directory has a name that delta-rs
    misreads.
    """
    from deltalake import DeltaTable

    if found := misread(directory):
        raise DeltaError.of("misread_name", where=repr(directory), found=repr(found))
    if not DeltaTable.is_deltatable(directory, storage.plain):
        return None
    return DeltaTable(directory, storage_options=storage.plain)


def described(table: DeltaTable) -> Described:
    protocol, metadata = table.protocol(), table.metadata()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return Described(
        schema=json.loads(table.schema().to_json()),
        partitioned_by=tuple(metadata.partition_columns),
        properties=dict(metadata.configuration),
        features=frozenset(features),
    )


def keeps_marks(table: DeltaTable, found: Described) -> bool:
    return WATERMARKED in found.properties and table.transaction_version(MARKED) is not None


def created(
    directory: str, schema: str, partitioned_by: list[str], storage: Storage = LOCAL
) -> None:
    """Create the table, with a schema as Delta's log has it, and the property that it has
    watermarks.
    """
    from deltalake import CommitProperties, DeltaTable, Schema

    DeltaTable.create(
        directory,
        Schema.from_json(schema),
        mode="error",
        partition_by=partitioned_by,
        configuration={WATERMARKED: VERSION},
        raise_if_key_not_exists=False,
        storage_options=storage.plain,
        commit_properties=CommitProperties(app_transactions=_transactions({MARKED: 1})),
    )


def taken_over(table: DeltaTable, bounds: Mapping[str, int]) -> None:
    """Give a table its first bounds, by their application ids. Fails where anything else was
    committed meanwhile, which could have added rows.
    """
    from deltalake import CommitProperties

    table.alter.set_table_properties(
        {WATERMARKED: VERSION},
        raise_if_not_exists=False,
        commit_properties=CommitProperties(
            app_transactions=_transactions({**bounds, MARKED: 1}), max_commit_retries=0
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


def offsets_in(
    table: DeltaTable,
    names: tuple[str, str, str],
    of: TopicPartition,
    within: OffsetRange,
    epoch: tuple[str, int] | None,
) -> pa.Array:
    """Return the offsets of a partition that the table's rows have, within a range. `epoch` names
    its column and the only one that counts.
    """
    import pyarrow as pa
    from deltalake import QueryBuilder

    topic, partition, offset = (_quoted(name) for name in names)
    literal = of.topic.replace("'", "''")
    where = (
        f"{topic} = '{literal}' AND {partition} = {of.partition} "
        f"AND {offset} >= {within.start} AND {offset} < {within.until}"
    )
    if epoch is not None:
        where += f" AND {_quoted(epoch[0])} = {epoch[1]}"
    query = f"SELECT {offset} AS o FROM rows_of_table WHERE {where}"
    found = QueryBuilder().register("rows_of_table", table).execute(query).read_all()
    return pa.array(found.column("o").to_pylist(), pa.int64())


def commit(
    table: DeltaTable,
    files: Iterable[AddedFile],
    moved: Mapping[str, int],
    is_alone: bool,
) -> None:
    """Add the files and move marks, by their application ids, in one commit. It fails if one of
    them has moved since the table's version, and if `is_alone`, after any other commit.
    """
    from deltalake import CommitProperties
    from deltalake.transaction import AddAction

    now_ms = int(time.time() * 1000)
    actions: list[Any] = [
        AddAction(one.path, one.bytes, dict(one.partition_values), now_ms, True, one.stats)
        for one in files
    ]
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        list(table.metadata().partition_columns),
        commit_properties=CommitProperties(
            app_transactions=_transactions(moved), max_commit_retries=0 if is_alone else None
        ),
    )


def application(log: Log, epoch: int | None) -> str:
    """Return the application id of a watermark. No name of a topic has a colon."""
    return f"zkgroup:{'' if epoch is None else epoch}:{log.topic}:{log.partition}:{log.topic_id}"


def bound_of(partition: TopicPartition, epoch: int | None) -> str:
    """Return the application id of a bound."""
    shown = "" if epoch is None else epoch
    return f"zkgroup-rows:{shown}:{partition.topic}:{partition.partition}"


def _transactions(versions: Mapping[str, int]) -> list[Transaction]:
    from deltalake import Transaction

    now_ms = int(time.time() * 1000)
    return [Transaction(name, version, now_ms) for name, version in sorted(versions.items())]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
