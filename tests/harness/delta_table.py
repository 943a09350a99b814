"""What a Delta table on a local disk holds, without Spark: the files its log names, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from tests.harness.oracle import Record


def records(table: Path) -> list[Record]:
    """(topic, partition, offset) of every row; the table must only ever have been appended to."""
    found: list[Record] = []
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text("utf-8").splitlines():
            action = json.loads(line)
            assert "remove" not in action, f"{commit} removes a file"
            if "add" in action:
                found += _rows(table, action["add"])
    return found


def _rows(table: Path, added: dict[str, object]) -> list[Record]:
    file = pq.ParquetFile(table / unquote(str(added["path"])))
    values = added["partitionValues"]
    assert isinstance(values, dict)
    offsets = file.read(columns=["offset"])["offset"].to_pylist()
    return [(values["topic"], int(values["partition"]), offset) for offset in offsets]
