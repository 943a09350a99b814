"""Bugs planted into the writer, each of which a scene must show (delta_scenes.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pyspark_zkgroup.delta import append
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.ranges import Box
from pyspark_zkgroup.delta.table import Table
from tests.spark import delta_races as races


def nothing_compared(batch: DataFrame, _of: Table, _by: Keys, _in: tuple[Box, ...]) -> DataFrame:
    return batch


def compared_outside(batch: DataFrame, of: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
    """The right rows of this moment, but Delta does not know that the table was read for them."""
    right = races.unplanted_fresh(batch, of, by, within)
    return batch.sparkSession.createDataFrame(right.collect(), right.schema)


@contextmanager
def not_alone(_spark: SparkSession, _location: str) -> Iterator[None]:
    yield


def _fresh(planted: races.Fresh) -> Callable[[], None]:
    def plant() -> None:
        races.original_fresh = planted
        races.put_back()

    return plant


def _no_lock() -> None:
    append.alone = not_alone  # type: ignore[assignment,attr-defined]


PLANTS: dict[str, Callable[[], None]] = {
    "nothing compared": _fresh(nothing_compared),
    "compared outside": _fresh(compared_outside),
    "no lock": _no_lock,
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    alone = append.alone  # type: ignore[attr-defined]
    PLANTS[name]()
    try:
        yield
    finally:
        append.alone = alone  # type: ignore[attr-defined]
        races.original_fresh = races.unplanted_fresh
        races.put_back()
