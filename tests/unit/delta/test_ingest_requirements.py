"""Tables that `delta.ingest` cannot append to are refused, with what they have by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.query import _target
from pyspark_zkgroup.delta.direct.requirements import (
    check_table,
    delta_type,
    names_of_table,
    partition_columns,
)
from pyspark_zkgroup.delta.direct.storage import LOCAL
from pyspark_zkgroup.delta.direct.target import Target, row_columns
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import Array, Column, Map, Struct, Type
from tests.unit.delta.ingest_scene import KEYS, VALUE, target


def field(name: str, kind: Any, metadata: Any = None, *, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata or {}}


def inside(metadata: Any = None, *, nullable: bool = True) -> dict[str, Any]:
    return {"type": "struct", "fields": [field("id", "long", metadata, nullable=nullable)]}


STRUCT = {
    "type": "struct",
    "fields": [field("id", "long"), field("country", "string"), field("x", "double")],
}
FIELDS = (
    field("topic", "string", nullable=False),
    field("partition", "long"),
    field("offset", "long"),
    field("value", STRUCT),
)
TABLE = Described({"fields": FIELDS}, ("topic", "partition"), {"delta.appendOnly": "true"})


def with_field(*added: dict[str, Any]) -> Described:
    return replace(TABLE, schema={"fields": (*FIELDS, *added)})


ARRAY = {"type": "array", "elementType": "integer", "containsNull": False}
MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def inside_of(kind: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [field("tags", kind)]}


def with_value(kind: Any) -> Described:
    return replace(TABLE, schema={"fields": (*FIELDS[:3], field("value", kind))})


def with_property(name: str, value: str) -> Described:
    return replace(TABLE, properties={name: value})


def test_a_table_of_these_columns_is_taken(tmp_path: Path) -> None:
    features = frozenset({"appendOnly", "deletionVectors", "changeDataFeed", "generatedColumns"})
    check_table(replace(TABLE, features=features), target(tmp_path))
    check_table(with_field(field("note", "string")), target(tmp_path))
    check_table(with_property("delta.columnMapping.mode", "none"), target(tmp_path))
    # It is not written, so it is null as a whole.
    check_table(with_field(field("n", ARRAY)), target(tmp_path))


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (with_property("delta.constraints.small", "x < 1"), "the constraint 'small'"),
        (with_property("delta.columnMapping.mode", "name"), "column mapping .mode 'name'."),
        (with_property("delta.enableRowTracking", "true"), "row tracking"),
        (with_property("delta.enableInCommitTimestamps", "true"), "in-commit timestamps"),
        (with_property("delta.enableIcebergCompatV2", "true"), "Iceberg compatibility"),
        (
            with_property("delta.setTransactionRetentionDuration", "interval 7 days"),
            "delta.setTransactionRetentionDuration, which expires the watermarks",
        ),
        (
            with_field(field("day", "date", {"delta.generationExpression": "CAST(t AS DATE)"})),
            "generated columns .'day'.",
        ),
        (with_field(field("n", "long", {"delta.identity.start": 1})), "identity columns .'n'."),
        (with_field(field("n", "long", {"delta.invariants": "{}"})), "column invariants .'n'."),
        (
            with_field(field("n", "string", {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"})),
            "CHAR and VARCHAR columns .'n'.",
        ),
        (with_field(field("n", "long", {"CURRENT_DEFAULT": "1"})), "a default of the column 'n'"),
        (with_field(field("n", "long", nullable=False)), "the NOT NULL column 'n'"),
        (with_field(field("n", inside(nullable=False))), "the NOT NULL column 'n.id'"),
        (
            with_field(field("n", {"type": "array", "elementType": inside(nullable=False)})),
            "the NOT NULL column 'n.id'",
        ),
        (
            with_field(field("n", inside({"delta.invariants": "{}"}))),
            "column invariants .'n.id'.",
        ),
        (with_value(ARRAY), r"NOT NULL elements or values .'value'."),
        (with_value(inside_of(ARRAY)), r"NOT NULL elements or values .'value.tags'."),
        (
            with_value({**MAP, "valueContainsNull": False}),
            r"NOT NULL elements or values .'value'.",
        ),
        (with_value({**MAP, "valueType": ARRAY}), r"NOT NULL elements or values .'value'."),
        (replace(TABLE, features=frozenset({"icebergCompatV1"})), "the table feature 'iceberg"),
        (replace(TABLE, features=frozenset({"rowTracking"})), "the table feature 'rowTracking'"),
    ],
)
def test_what_an_append_would_break_is_named(tmp_path: Path, table: Described, found: str) -> None:
    with pytest.raises(DeltaError, match=f"the table has {found}"):
        check_table(table, target(tmp_path))


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (replace(TABLE, partitioned_by=()), "is partitioned by no column, but .* topic, partition"),
        (
            replace(TABLE, schema={"fields": FIELDS[:3]}),
            "has no column 'value': it has topic, partition, offset",
        ),
        (
            replace(TABLE, schema={"fields": (*FIELDS[:2], field("offset", "string"), FIELDS[3])}),
            "The column 'offset' of .* has the type string, but records have bigint",
        ),
        (with_property("zkgroup.watermarks", "2"), "has watermarks of version 2"),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path: Path, table: Described, found: str) -> None:
    with pytest.raises(DeltaError, match=found):
        check_table(table, target(tmp_path))


DAYS = field("day", "date"), field("country", "string")


def test_partitions_of_an_existing_table_are_recognised() -> None:
    row = row_columns((*KEYS, VALUE), ("day",))
    table = replace(with_field(*DAYS), partitioned_by=("partition", "day", "country"))
    names = names_of_table(table, (*KEYS, VALUE))
    assert names == ("partition", "day", "value.country")
    assert [one.source for one in partition_columns(names, row, KEYS)] == [
        ("partition",),
        ("timestamp",),
        ("value", "country"),
    ]


def test_a_partition_column_with_two_possible_sources_is_refused() -> None:
    inner = Struct((Column("day", "date"), Column("country", "string"), Column("topic", "string")))
    key, value = Column("key", inner), Column("value", inner)

    def names(*partitioned_by: str, asked: tuple[Column, ...]) -> tuple[str, ...]:
        return names_of_table(replace(with_field(*DAYS), partitioned_by=partitioned_by), asked)

    for name, asked, sources in [
        ("country", (key, value), "key.country or value.country"),
        ("day", (*KEYS, value), "day or value.day"),
        ("topic", (value,), "topic or value.topic"),
    ]:
        with pytest.raises(DeltaError, match=f"'{name}' can have the values of {sources}"):
            names(name, asked=asked)
    # A table cannot have two columns `topic`, and the other `day` has another type.
    text = Column("value", Struct((Column("day", "string"), Column("topic", "string"))))
    assert names("topic", "day", asked=(*KEYS, text)) == ("topic", "day")


def test_a_partition_column_that_is_too_narrow_is_refused(tmp_path: Path) -> None:
    into = target(tmp_path, (*KEYS, VALUE), ("partition", "value.id"))
    for kind in ("byte", "short", "integer"):
        table = replace(with_field(field("id", kind)), partitioned_by=("partition", "id"))
        with pytest.raises(DeltaError, match=f"The column 'id' of .* has the type {kind}"):
            check_table(table, into)
    check_table(replace(with_field(field("id", "long")), partitioned_by=("partition", "id")), into)


def test_a_column_of_kafka_partitions_may_be_a_smallint(tmp_path: Path) -> None:
    def with_partition(kind: str) -> Described:
        fields = (FIELDS[0], field("partition", kind), *FIELDS[2:])
        return replace(TABLE, schema={"fields": fields})

    check_table(with_partition("short"), target(tmp_path))
    with pytest.raises(DeltaError, match=r"The column 'partition' of .* has the type byte"):
        check_table(with_partition("byte"), target(tmp_path))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("colour", "partition_by names 'colour', but records have topic, partition, offset"),
        ("value.colour", "partition_by names 'value.colour', but"),
        ("value.x", "partition_by names 'value.x', which has the type double"),
        ("timestamp", "partition_by names 'timestamp', which has the type timestamp"),
    ],
)
def test_names_that_are_no_partition_columns_are_refused(name: str, found: str) -> None:
    row = (*row_columns((*KEYS, VALUE), ("day",)),)
    with pytest.raises(DeltaError, match=found):
        partition_columns((name,), row, (*KEYS, VALUE))


def test_a_field_whose_name_is_taken_is_refused() -> None:
    columns = (*KEYS, VALUE, Column("country", "string"))
    with pytest.raises(DeltaError, match="the table would have two columns 'country'"):
        partition_columns(("value.country",), columns, columns)


def test_names_that_differ_only_in_case_are_one_column(tmp_path: Path) -> None:
    fields = (Column("Topic", "string"), Column("country", "string"), Column("Day", "date"))
    columns = (*KEYS, Column("value", Struct(fields)))
    row = row_columns(columns, ("day",))
    for names in [("value.Topic",), ("day", "value.Day")]:
        with pytest.raises(DeltaError, match=f"two columns '{names[-1][6:]}'.*differ only in case"):
            partition_columns(names, row, columns)
    upper = replace(TABLE, schema={"fields": (*FIELDS[:3], field("Value", STRUCT))})
    with pytest.raises(DeltaError, match="has the column 'Value', but records have 'value'"):
        check_table(upper, target(tmp_path))


@pytest.mark.parametrize("nested", [lambda one: one, Array, lambda one: Map("string", one)])
def test_fields_that_differ_only_in_case_are_refused(nested: Callable[[Type], Type]) -> None:
    inner = Struct((Column("id", "bigint"), Column("x", "int"), Column("ID", "string")))
    value = Column("value", Struct((Column("of", nested(inner)),)))
    with pytest.raises(DeltaError, match="'value' has two fields 'id' that differ only in case"):
        delta_type(value)


def test_a_field_does_not_take_the_column_of_the_epoch(tmp_path: Path) -> None:
    """Rows would go to partitions by the field's values, and none would tell its epoch."""
    fields = {
        "topic": StringType(),
        "partition": IntegerType(),
        "offset": LongType(),
        "value": StructType([StructField("epoch", IntegerType())]),
    }
    schema = StructType([StructField(name, kind) for name, kind in fields.items()])
    options = {
        "kafka.bootstrap.servers": "broker1:9092",
        "group.id": "billing",
        "subscribe": "orders",
        "value.format": "json",
    }

    def asked(epoch: int | None) -> Target:
        return _target(options, str(tmp_path / "t"), schema, ["value.epoch"], epoch, LOCAL)[1]

    assert [one.name for one in asked(None).columns] == [*fields, "epoch"]
    with pytest.raises(DeltaError, match=r"'value.epoch', but .* two columns 'epoch'"):
        asked(1)
