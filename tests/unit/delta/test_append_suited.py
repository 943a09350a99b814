"""Which tables Spark's files can be added to as they are, and how such a file is described."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_zkgroup.delta import suited
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.staging import _described, move, values_of
from pyspark_zkgroup.delta.suited import Written, columns, indexed, obstacles
from pyspark_zkgroup.delta.write_path import _opened
from pyspark_zkgroup.errors import DeltaError


def field(name: str, kind: Any, *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


STRUCT = {"type": "struct", "fields": [field("a", "integer"), field("b", "decimal(9,2)")]}
FIELDS = [
    field("Topic", "string"),
    field("partition", "long"),
    field("offset", "long", nullable=False),
    field("s", STRUCT),
    field("tags", {"type": "array", "elementType": "string", "containsNull": True}),
    field("day", "date"),
]
ARRAY = {"type": "array", "elementType": "integer", "containsNull": False}
TABLE = Described({"fields": FIELDS}, ("day",), {})
BATCH = [field("topic", "string"), field("partition", "integer"), field("offset", "long")]
BY = Keys(topic="Topic")


def with_column(*added: dict[str, Any]) -> Described:
    return replace(TABLE, schema={"fields": [*FIELDS, *added]})


def test_a_plain_table_has_no_obstacle() -> None:
    assert obstacles(TABLE, BATCH, BY) == obstacles(TABLE, [], BY) == []


@pytest.mark.parametrize(
    ("table", "fields", "told"),
    [
        (replace(TABLE, properties={"delta.constraints.small": "x"}), BATCH, "constraint 'small'"),
        (replace(TABLE, properties={"delta.columnMapping.mode": "name"}), [], "column mapping"),
        (with_column(field("value", "binary", nullable=False)), BATCH, "NOT NULL column 'value'"),
        (
            replace(TABLE, properties={"zkgroup.watermarks": "2"}),
            BATCH,
            "the version 2 of its watermarks",
        ),
        (
            replace(with_column(field("at", "timestamp")), partitioned_by=("at",)),
            BATCH,
            "the partition column 'at' of the type timestamp",
        ),
        (TABLE, [*BATCH, field("more", "string")], "the missing column 'more'"),
        (
            with_column(field("a", ARRAY)),
            [*BATCH, field("a", {**ARRAY, "containsNull": True})],
            "NOT NULL elements or values ('a')",
        ),
        (with_column(field("A", ARRAY)), [*BATCH, field("a", ARRAY)], "NOT NULL elements"),
        (TABLE, [*BATCH, field("s", "string")], "the column 's', which is struct in the table"),
        (TABLE, [*BATCH, field("Day", "integer")], "the column 'day', which is date in the table"),
        (
            TABLE,
            [BATCH[0], BATCH[2], field("partition", "string")],
            "the column 'partition', which is long in the table and string here",
        ),
    ],
)
def test_what_files_cannot_be_added_to_is_reported(
    table: Described, fields: Sequence[Mapping[str, Any]], told: str
) -> None:
    (found,) = obstacles(table, fields, BY)
    assert told in found


def test_a_default_of_a_column_that_is_written_is_no_obstacle() -> None:
    table = with_column(field("Note", "string", CURRENT_DEFAULT="'-'"))
    assert obstacles(table, [*BATCH, field("note", "string")], BY) == []
    (found,) = obstacles(table, BATCH, BY)
    assert found == "a default of the column 'Note'"


def test_a_wide_column_is_not_narrowed() -> None:
    narrow = replace(TABLE, schema={"fields": [field("partition", "integer")]}, partitioned_by=())
    (found,) = obstacles(narrow, [field("partition", "long")], Keys())
    assert found == "the column 'partition', which is integer in the table and long here"


def test_of_nested_columns_the_field_that_differs_is_named() -> None:
    def of(**fields: str) -> dict[str, Any]:
        inner = [field(name, kind) for name, kind in fields.items()]
        return {"type": "struct", "fields": inner}

    table = with_column({"name": "value", "type": of(id="long", amount="double"), "metadata": {}})
    for given, told in (
        (of(id="long", amount="string"), "'value.amount', which is double in the table and string"),
        (of(id="long", amount="double", currency="string"), "the missing column 'value.currency'"),
        (of(id="long"), "'value.amount', which the batch lacks"),
        (
            {"type": "array", "elementType": "long"},
            "'value', which is struct in the table and array",
        ),
        ("string", "'value', which is struct in the table and string here"),
    ):
        batch = [*BATCH, {"name": "value", "type": given, "metadata": {}}]
        (found,) = obstacles(table, batch, BY)
        assert told in found


def test_columns_get_the_tables_names_and_wider_types() -> None:
    assert columns(TABLE, BATCH) == [
        Written("topic", "Topic"),
        Written("partition", "partition", "long"),
        Written("offset", "offset"),
    ]


def test_statistics_are_those_that_the_table_asks_for() -> None:
    assert indexed(TABLE) == ("Topic", "partition", "offset", "s.a")
    dotted = with_column(field("a.b", "string"), field("last", "string"))
    assert indexed(dotted) == ("Topic", "partition", "offset", "s.a", "last")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("delta.dataSkippingNumIndexedCols", "2", ("Topic", "partition")),
        ("delta.dataSkippingNumIndexedCols", "0", ()),
        ("delta.dataSkippingNumIndexedCols", "-1", ("Topic", "partition", "offset", "s.a")),
        ("delta.dataSkippingStatsColumns", "`offset`, s", ("offset", "s.a")),
    ],
)
def test_the_tables_properties_choose_columns(
    name: str, value: str, expected: tuple[str, ...]
) -> None:
    assert indexed(replace(TABLE, properties={name: value})) == expected


def test_thirty_two_columns_have_statistics_by_default() -> None:
    many = replace(TABLE, schema={"fields": [field(f"c{n}", "long") for n in range(40)]})
    assert len(indexed(many)) == suited.INDEXED_COLUMNS == 32


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("topic=orders/partition=0", ("orders", "0")),
        ("topic=a%2Fb%3D%25/partition=-1", ("a/b=%", "-1")),
        ("topic=ä ö/partition=__HIVE_DEFAULT_PARTITION__", ("ä ö", None)),
        ("a%20b=x=y/partition=", ("x=y", "")),
    ],
)
def test_partition_values_are_read_from_directories(
    path: str, values: tuple[str | None, ...]
) -> None:
    kinds = {"topic": "string", "partition": "integer"}
    assert values_of(Path(path), kinds) == tuple(zip(kinds, values, strict=True))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0001-01-01", "0001-01-01"),
        ("9999-12-31", "9999-12-31"),
        ("+12000-01-01", None),
        ("+294247-01-10", None),
        ("0000-12-31", None),
        ("-0001-01-01", None),
        ("__HIVE_DEFAULT_PARTITION__", None),
    ],
)
def test_a_date_that_readers_cannot_parse_is_null(text: str, value: str | None) -> None:
    assert values_of(Path(f"day={text}"), {"day": "date"}) == (("day", value),)
    (written,) = values_of(Path(f"topic={text}"), {"topic": "string"})
    assert written == ("topic", None if text.startswith("__") else text)


@pytest.mark.parametrize("text", ["M?nchen", os.fsdecode("München".encode("latin-1"))])
def test_a_partition_value_that_the_jvm_could_not_write_is_refused(text: str) -> None:
    with pytest.raises(DeltaError, match=r"'country' .*M.*nchen.*LC_ALL=C.UTF-8"):
        values_of(Path(f"country={text}"), {"country": "string"})
    escaped = values_of(Path("country=M%3Fnchen"), {"country": "string"})
    assert escaped == (("country", "M?nchen"),)


def test_a_directory_that_delta_rs_misreads_is_left_to_spark(tmp_path: Path) -> None:
    directory = tmp_path / "a%20b"
    (directory / "_delta_log").mkdir(parents=True)
    table, (reason,) = _opened(directory)
    assert table is None
    assert "its name (The directory " in reason


def test_a_table_without_partitions_has_no_values() -> None:
    assert values_of(Path(), {}) == ()


def test_files_of_values_with_one_directory_do_not_replace_each_other(tmp_path: Path) -> None:
    """Spark gives the files of a task one name in all directories; ours are shortened."""
    place, table = tmp_path / "staging", tmp_path / "table"
    long = "https:%2F%2Fexample.com%2Fa-path-that-is-longer-than-a-directory-shows%2F"
    parts = ["a b", "a_b", "null", "__HIVE_DEFAULT_PARTITION__", f"{long}1", f"{long}2"]
    for number, text in enumerate(parts):
        (place / f"c={text}").mkdir(parents=True)
        rows = pa.table({"offset": [number]})
        pq.write_table(rows, place / f"c={text}" / "part-00000-1f.c000.snappy.parquet")
    files = list(_described(place, {"c": "string"}, ("offset",)))
    move(files, table)
    there = {one.partition_values: pq.read_table(table / one.path) for one in files}
    values = ["a b", "a_b", "null", None, *map(unquote, parts[4:])]
    found = {of: rows["offset"].to_pylist() for of, rows in there.items()}
    assert found == {(("c", value),): [number] for number, value in enumerate(values)}
