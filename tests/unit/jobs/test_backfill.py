"""jobs/backfill.py continues where the run before ended, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.jobs import ranges
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.unit.jobs.loading import job

RANGES = {TopicPartition("orders", 0): OffsetRange(0, 50)}


class Place(str):
    """What Hadoop's Path does here."""

    __slots__ = ()

    def getFileSystem(self, _: object) -> type[Disk]:  # noqa: N802
        return Disk

    def toString(self) -> str:  # noqa: N802
        return str(self)


class Disk:
    """What Hadoop's FileSystem does here."""

    @staticmethod
    def exists(path: Place) -> bool:
        return Path(path).exists()

    @staticmethod
    def open(path: Place) -> BinaryIO:
        return Path(path).open("rb")

    @staticmethod
    def create(path: Place, _overwrite: bool) -> BinaryIO:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Path(path).open("wb")

    @staticmethod
    def rename(path: Place, to: Place) -> bool:
        Path(path).rename(to)
        return True

    @staticmethod
    def makeQualified(path: Place) -> Place:  # noqa: N802
        return Place(f"file:{Path.cwd() / path}")


class TextOf:
    @staticmethod
    def toString(stream: BinaryIO, encoding: str) -> str:  # noqa: N802
        return stream.read().decode(encoding)


def node(**names: Any) -> SimpleNamespace:
    return SimpleNamespace(**names)


SPARK = node(
    _jsc=node(hadoopConfiguration=lambda: None),
    _jvm=node(
        org=node(
            apache=node(hadoop=node(fs=node(Path=Place)), commons=node(io=node(IOUtils=TextOf)))
        )
    ),
)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what begins a run into the table, in steps of 10 offsets."""
    monkeypatch.setattr(ranges, "looked_up", lambda _: (RANGES, "broker1:9092"))
    backfill = job("backfill")

    def begin(table: str = "/data/billing") -> Any:
        given = ["--bootstrap-servers", "broker1:9092", "--subscribe", "orders"]
        given += ["--table", table, "--checkpoint", str(tmp_path / "c"), "--max-offsets", "10"]
        return backfill.Backfill(SPARK, backfill._arguments(given))

    return begin


def test_steps_that_are_noted_are_done(begun: Callable[..., Any]) -> None:
    first = begun()
    assert (first.steps, first.done) == (5, set())
    first.noted.note(3)
    again = begun()
    assert (again.ranges, again.steps, again.done) == (RANGES, 5, {3})


def test_steps_of_other_ranges_are_not_taken_for_done(
    begun: Callable[..., Any], tmp_path: Path
) -> None:
    """As after the file was deleted to give other arguments: records would be missing."""
    begun().noted.note(3)
    (tmp_path / "c" / "ranges.json").unlink()
    for _ in range(2):
        with pytest.raises(PlanError, match="notes finished steps, but not of which ranges"):
            begun()


def test_a_relative_table_is_another_one_in_another_directory(
    begun: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    begun("billing").noted.note(0)
    assert begun(str(tmp_path / "a" / "billing")).done == {0}
    monkeypatch.chdir(tmp_path / "b")
    there, here = (f"'file:{tmp_path / name / 'billing'}'" for name in "ab")
    with pytest.raises(PlanError, match=f"other arguments: table was {there}, is {here}"):
        begun("billing")
