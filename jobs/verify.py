"""Compares a Delta table with the produced records, one by one, and prints one line:

    produced 120000, in Delta 120000, missing 0, duplicates 0

The produced records are listed in a JSON file, as half-open ranges of offsets:

    {"topic": "events", "ranges": {"0": [[0, 10000]], "1": [[0, 10000]]}}

Exit status: 0 when the table holds each of these records once and nothing else; 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup.delta import session
from pyspark_zkgroup.errors import ZkgroupError

KEYS = ("topic", "partition", "offset")
_FORMAT = '{"topic": "events", "ranges": {"0": [[0, 10000]]}}, with half-open ranges of offsets'


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="verify.py", description="Compares a Delta table with what was produced."
    )
    parser.add_argument("--table", required=True, metavar="PATH", help="the Delta table")
    parser.add_argument(
        "--produced", required=True, type=_produced, metavar="FILE", help=f"JSON: {_FORMAT}"
    )
    parser.add_argument("--remove-one-row", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        spark = session("zkgroup verify", _say)
        spark.sparkContext.setLogLevel("WARN")
        if arguments.remove_one_row:
            _remove_one_row(spark, arguments.table)
        line, right = compare(arguments.produced, _rows(spark, arguments.table))
    except (PySparkException, ZkgroupError) as error:
        _say(f"verify: failed: {str(error).splitlines()[0]}")
        return 1
    spark.stop()
    _say(line)
    return 0 if right else 1


def compare(produced: dict[str, Any], found: Counter[tuple[str, int, int]]) -> tuple[str, bool]:
    """Return the result line, and whether all is right. Counted here, not by Spark, whose work is
    checked.
    """
    expected = {
        (produced["topic"], int(partition), offset)
        for partition, ranges in produced["ranges"].items()
        for start, until in ranges
        for offset in range(start, until)
    }
    rows = sum(found.values())
    missing = len(expected - found.keys())
    duplicates = rows - len(found)
    strange = len(found.keys() - expected)
    line = f"produced {len(expected)}, in Delta {rows}, missing {missing}, duplicates {duplicates}"
    if strange:
        line += f", never produced {strange}"
    return line, not (missing or duplicates or strange)


def _rows(spark: SparkSession, table: str) -> Counter[tuple[str, int, int]]:
    found = spark.read.format("delta").load(table).select(*KEYS).toArrow()
    return Counter(zip(*(found[key].to_pylist() for key in KEYS), strict=True))


def _remove_one_row(spark: SparkSession, table: str) -> None:
    """For the test of this test."""
    from delta.tables import DeltaTable

    row = spark.read.format("delta").load(table).select(*KEYS).first()
    if row is not None:
        one = reduce(lambda a, b: a & b, (f.col(key) == f.lit(row[key]) for key in KEYS))
        DeltaTable.forPath(spark, table).delete(one)


def _produced(path: str) -> dict[str, Any]:
    try:
        produced = json.loads(Path(path).read_text("utf-8"))
        if any(produced["ranges"].values()) and produced["topic"]:
            return dict(produced)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{path} is not of the form {_FORMAT}") from error
    raise argparse.ArgumentTypeError(f"{path} names nothing that was produced")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
