"""Scenes around appends of rows, one after the other in one Spark driver.

    python -m tests.spark.delta_scenes DIRECTORY SCENE ...

Prints, as JSON, what each scene found; of one that failed, how. `PLANT > SCENE` plays the scene
with a bug planted (delta_plants.py).
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup import delta
from tests.spark import delta_bounds as bounds
from tests.spark import delta_races as races
from tests.spark import delta_tables as tables
from tests.spark.delta_plants import planted

FAILURE_CHARACTERS = 3000

Scene = Callable[[SparkSession, Path], dict[str, Any]]

SCENES: dict[str, Scene] = {
    "again": races.again_and_overlapping,
    "before": races.rival_before_the_write,
    "same partition": races.rival_of_the_same_partition,
    "by name": races.rival_of_a_table_by_name,
    "other partition": races.rival_of_another_partition,
    "other process": races.another_process_writes,
    "new": races.many_make_the_table,
    "planned": tables.planned,
    "compiled": tables.compiled_once,
    "arrow": tables.of_the_session,
    "own": tables.of_the_users_own,
    "clustered": tables.clustered,
    "read again": tables.read_again,
    "refused": tables.refused,
    "compacted": tables.compacted_meanwhile,
    **bounds.SCENES,
}


def played(name: str, spark: SparkSession, table: Path) -> dict[str, Any]:
    plant, _, scene = name.rpartition(" > ")
    with planted(plant) if plant else nullcontext():
        return SCENES[scene](spark, table)


def main(directory: Path, names: list[str]) -> None:
    spark = delta.session("delta scenes", print)
    spark.sparkContext.setLogLevel("ERROR")
    # Delta's own queries are not what is tried here.
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        try:
            found[name] = played(name, spark, directory / name.replace(" ", "-"))
        except Exception:  # noqa: BLE001 - told to the test
            races.put_back()
            found[name] = {"failed": traceback.format_exc()[-FAILURE_CHARACTERS:]}
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
