"""The target of `delta.ingest` as the JSON that an option carries to the source."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.delta.direct.source import FilesSource, given
from pyspark_zkgroup.delta.direct.target import PartitionColumn, Target
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct

TARGET = Target(
    "/data/größe/t",
    (
        Column("offset", "bigint"),
        Column("price", Decimal(12, 2)),
        Column("tags", Map("string", Array("string"))),
        Column("value", Struct((Column("id", "bigint"), Column("key", Struct(()))))),
    ),
    (PartitionColumn("country", "string", ("value", "country")),),
    epoch=3,
    statistics=("offset", "value.id"),
    file_bytes=1000,
)


@pytest.mark.parametrize("target", [TARGET, Target("t", ())])
def test_a_target_is_the_same_after_the_way_through_json(target: Target) -> None:
    assert Target.of_json(target.as_json()) == target


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(TARGET.as_json()), **fields})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Expecting property name"),
        ("null", "a field is missing or has another type: None"),
        ("{}", "a field is missing"),
        (changed(directory=None), "a field is missing or has another type"),
        (changed(epoch="3"), "a field is missing or has another type"),
        (changed(columns=[["offset", "bigint"]]), r"\['offset', 'bigint'\] is not a column"),
        (changed(columns=[{"name": "a", "type": {"list": "int"}}]), "{'list': 'int'} is not a ty"),
        (changed(partition_by=["day"]), "'day' is not a partition column"),
    ],
)
def test_what_is_not_a_target_is_named(text: str, problem: str) -> None:
    with pytest.raises(DeltaError, match=f"Option 'ingest.target' is not .*{problem}"):
        Target.of_json(text)


def test_the_source_gets_it_in_an_option_and_asks_for_it() -> None:
    assert FilesSource({**given(TARGET, "{}"), "subscribe": "t"})._target == TARGET
    with pytest.raises(DeltaError, match=r"Start the query with delta\.ingest"):
        FilesSource({"subscribe": "t"})
