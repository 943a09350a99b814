"""What a Delta table holds, read from its log while others write: no Spark is needed for it.

Good for a table to which files are only added. The last word on a table is Spark's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class TableLog:
    """Rows of the table so far, and per Kafka partition the offset after its highest."""

    def __init__(self, table: Path) -> None:
        self._log = table / "_delta_log"
        self._version = 0
        self.rows = 0
        self.ends: dict[int, int] = {}

    def catch_up(self) -> TableLog:
        while (commit := self._log / f"{self._version:020}.json").exists():
            # Delta puts a commit in its place whole.
            for line in commit.read_text("utf-8").splitlines():
                added = json.loads(line).get("add")
                if added is not None:
                    self._add(added)
            self._version += 1
        return self

    def _add(self, added: dict[str, Any]) -> None:
        stats = json.loads(added["stats"])
        partition = int(added["partitionValues"]["partition"])
        self.rows += stats["numRecords"]
        if stats["numRecords"]:
            end = stats["maxValues"]["offset"] + 1
            self.ends[partition] = max(end, self.ends.get(partition, 0))
