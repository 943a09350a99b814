"""Over Spark Connect there is no JVM to append with: the error says so, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup import delta
from pyspark_zkgroup.errors import DeltaError

SPARK: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()


class Frame:
    sparkSession = SPARK  # noqa: N815 - as Spark spells it
    schema = None


def by_writer(path: str) -> None:
    frame: Any = Frame()
    delta.writer(frame, path, checkpointLocation=f"{path}-checkpoint")


def by_ingest(path: str) -> None:
    delta.ingest(SPARK, {}, path, checkpointLocation=f"{path}-checkpoint")


def by_alone(path: str) -> None:
    with delta.alone(SPARK, path):
        pass


@pytest.mark.parametrize("way", [by_writer, by_ingest, by_alone])
def test_delta_is_refused_over_spark_connect(way: Callable[[str], None], tmp_path: Path) -> None:
    with pytest.raises(DeltaError, match=r"Spark Connect.*spark-submit"):
        way(str(tmp_path / "table"))
