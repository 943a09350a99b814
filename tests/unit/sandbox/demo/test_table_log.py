"""Rows of a Delta table, from the log its writers are writing."""

from __future__ import annotations

import json
from pathlib import Path

from zkgroup_sandbox.demo.table_log import TableLog


def commit(table: Path, version: int, *added: tuple[int, int, int]) -> None:
    """Each added file: partition, rows, highest offset."""
    actions: list[object] = [{"commitInfo": {"operation": "WRITE"}}]
    for partition, rows, highest in added:
        stats = {"numRecords": rows, "maxValues": {"offset": highest} if rows else {}}
        values = {"topic": "t", "partition": str(partition)}
        actions.append({"add": {"partitionValues": values, "stats": json.dumps(stats)}})
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def test_a_table_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    log = TableLog(tmp_path / "table").catch_up()
    assert (log.rows, log.ends) == (0, {})


def test_commits_are_followed_as_they_come(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    commit(tmp_path, 0)
    commit(tmp_path, 1, (0, 10, 9), (1, 5, 4))
    assert log.catch_up().rows == 15
    assert log.ends == {0: 10, 1: 5}
    commit(tmp_path, 2, (0, 3, 12), (1, 0, 0))
    assert log.catch_up().rows == 18
    assert log.catch_up().ends == {0: 13, 1: 5}
