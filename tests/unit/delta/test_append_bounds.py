"""Which rows of a batch are compared with the table before Spark appends them."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.delta.direct.bounds import Look, Marks, look
from pyspark_zkgroup.delta.direct.rules import ADOPTED, Log
from pyspark_zkgroup.model import OffsetRange, TopicPartition

LOG = Log("orders", 3, "Yw1hPrQ2TDmM0gQsk4UoYQ")
OTHER = Log("orders", 3, "qF0hPrQ2TDmM0gQsk4Uo1A")
P = TopicPartition("orders", 3)
BATCH = {P: OffsetRange(100, 200)}


@pytest.mark.parametrize(
    ("watermark", "bound", "compared", "moved"),
    [
        (None, None, None, 200),
        (None, 100, None, 200),
        (100, None, None, 200),
        (100, 100, None, 200),
        (100, 40, None, 200),
        (40, 100, None, 200),
        # A gap: other records were read into another table, or an operator moved the offset.
        (None, 40, None, 200),
        (None, 150, 150, 200),
        (150, 0, 150, 200),
        (150, 170, 170, 200),
        (170, 150, 170, 200),
        (None, 200, 200, None),
        (200, None, 200, None),
        (900, 150, 200, None),
        (150, 900, 200, None),
    ],
)
def test_rows_below_the_watermark_or_the_bound_are_compared(
    watermark: int | None, bound: int | None, compared: int | None, moved: int | None
) -> None:
    watermarks = {LOG.without_id: ADOPTED, **({} if watermark is None else {LOG: watermark})}
    marks = Marks(watermarks, {} if bound is None else {P: bound})
    assert look(marks, BATCH, {LOG}) == Look(
        {} if compared is None else {P: OffsetRange(100, compared)},
        {} if moved is None else {P: moved},
    )


def test_each_partition_has_its_own() -> None:
    other = TopicPartition("orders", 4)
    ranges = {P: OffsetRange(100, 200), other: OffsetRange(0, 10)}
    logs = {LOG, LOG._replace(partition=4)}
    found = look(Marks({LOG: 150}, {other: 5}), ranges, logs)
    assert found == Look({P: OffsetRange(100, 150), other: OffsetRange(0, 5)}, {P: 200, other: 10})


def test_a_watermark_of_a_deleted_topic_does_not_count() -> None:
    marks = Marks({OTHER: 900, LOG.without_id: ADOPTED}, {})
    assert look(marks, BATCH, {LOG}) == Look({}, {P: 200})
    assert look(marks, BATCH, {LOG, OTHER}) == Look(BATCH, {})


def test_a_watermark_from_before_ids_counts() -> None:
    marks = Marks({LOG.without_id: 150}, {})
    expected = Look({P: OffsetRange(100, 150)}, {P: 200})
    assert look(marks, BATCH, {LOG}) == look(marks, BATCH, {LOG.without_id}) == expected


@pytest.mark.parametrize("logs", [set(), {LOG.without_id}], ids=["no plan", "no id"])
@pytest.mark.parametrize(("bound", "moved"), [(None, 200), (150, 200), (200, None)])
def test_all_rows_are_compared_where_the_watermark_cannot_be_known(
    logs: set[Log], bound: int | None, moved: int | None
) -> None:
    marks = Marks({LOG.without_id: ADOPTED, LOG: 100}, {} if bound is None else {P: bound})
    assert look(marks, BATCH, logs) == Look(BATCH, {} if moved is None else {P: moved})
