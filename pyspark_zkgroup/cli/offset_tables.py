"""How offsets are printed: as they stand, and as they are about to be set.

Those in Kafka have a column where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from rich.table import Table

from pyspark_zkgroup.cli.cells import add_row, table_title
from pyspark_zkgroup.inspect.reset import Move
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import StoredOffset, TopicPartition

Stored = Mapping[TopicPartition, StoredOffset]


def committed_table(
    group: str, committed: Mapping[TopicPartition, int | None], stored: Stored
) -> Table:
    every = sorted(committed.keys() | stored.keys())
    table = Table(title=table_title(f"group {group}: {counted(len(every), 'offset')}"))
    table.add_column("topic", overflow="fold")
    _add_numbers(table, "partition", "committed", *_in_kafka(stored, "in Kafka"))
    for p in every:
        in_kafka = _in_kafka(stored, _stored(stored, p))
        add_row(table, p.topic, str(p.partition), _number(committed.get(p)), *in_kafka)
    return table


def kafka_table(group: str, in_kafka: Mapping[TopicPartition, int | None]) -> Table:
    table = Table(title=table_title(f"group {group}: {counted(len(in_kafka), 'offset')} in Kafka"))
    table.add_column("topic", overflow="fold")
    _add_numbers(table, "partition", "in Kafka")
    for p, offset in sorted(in_kafka.items()):
        add_row(table, p.topic, str(p.partition), _number(offset))
    return table


def moves_table(group: str, wanted: tuple[Move, ...], stored: Stored) -> Table:
    at = datetime.now(timezone.utc).strftime("%H:%M:%S UTC")
    table = Table(title=table_title(f"group {group}, {at}: {_changing(wanted)} change{_s(wanted)}"))
    table.add_column("topic", overflow="fold")
    _add_numbers(table, "partition", "before", *_in_kafka(stored, "in Kafka"), "after", "by")
    table.add_column("note", overflow="fold")
    for move in wanted:
        add_row(
            table,
            move.partition.topic,
            str(move.partition.partition),
            _number(move.before),
            *_in_kafka(stored, _stored(stored, move.partition)),
            _number(move.after),
            "" if move.before is None else f"{move.after - move.before:+,}",
            move.note,
        )
    return table


def outcome(wanted: tuple[Move, ...], in_kafka: int) -> str:
    """What was done, in the words of the table that was shown before."""
    return f"{_changing(wanted)} changed" + (f", {in_kafka} set in Kafka too" if in_kafka else "")


def _changing(wanted: tuple[Move, ...]) -> str:
    return f"{sum(move.changes for move in wanted)} of {counted(len(wanted), 'offset')}"


def _s(wanted: tuple[Move, ...]) -> str:
    return "s" if len(wanted) == 1 else ""


def _add_numbers(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right")


def _in_kafka(stored: Stored, cell: str) -> tuple[str, ...]:
    return (cell,) if stored else ()


def _stored(stored: Stored, partition: TopicPartition) -> str:
    return _number(stored[partition].offset if partition in stored else None)


def _number(offset: int | None) -> str:
    return "-" if offset is None else f"{offset:,}"
