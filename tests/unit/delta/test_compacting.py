"""Compaction of a real table by delta-rs, also while members append to it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable, TableFeatures

from pyspark_zkgroup.delta.compacting import Compaction, Small, small_partitions
from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.takeover import prepare
from pyspark_zkgroup.delta.lock import LOCK, alone_here
from pyspark_zkgroup.errors import DeltaError
from tests.unit.delta.ingest_scene import VALUE, offsets, prepared, taken, target, written

MB = 2**20


def test_partitions_with_many_small_files_come_first() -> None:
    files: list[tuple[Mapping[str, str | None], int]]
    files = [({"p": "0"}, 5), ({"p": "0"}, 50), ({"p": None}, 5), ({"p": None}, 6)]
    files += [({"p": "1"}, 1)] * 3
    assert small_partitions(files, 50, 2) == [
        Small({"p": "1"}, 3, 3),
        Small({"p": None}, 2, 11),
    ]


def test_a_compaction_changes_no_row_and_no_watermark(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    for start in range(0, 12, 3):
        taken(commits, into, {0: range(start, start + 3), 1: range(start, start + 3)})
    compaction = Compaction(Path(into.directory))
    found = compaction.partitions(MB, 2)
    assert [one.files for one in found] == [4, 4]
    assert [compaction.compact(one, MB) for one in found] == [(4, 1), (4, 1)]
    assert compaction.partitions(MB, 2) == []
    # A replay, and what follows.
    taken(commits, into, {0: range(9, 14)})
    taken(Commits(into), into, {1: range(6, 13)})
    assert offsets(into) == {0: list(range(14)), 1: list(range(13))}


def test_members_append_during_a_compaction(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    ended = threading.Event()
    merged: list[int] = []
    errors: list[Exception] = []

    def compact() -> None:
        compaction = Compaction(Path(into.directory))
        while not ended.is_set():
            try:
                found = compaction.partitions(MB, 2)
                merged.extend(compaction.compact(one, MB)[0] for one in found)
            except Exception as error:  # noqa: BLE001 - told to the test
                errors.append(error)

    def member(partition: int) -> None:
        commits = Commits(into)
        for start in range(0, 36, 3):
            # Every batch also brings the one before again, as after a crash.
            batch = written(into, {partition: range(max(0, start - 3), start + 3)})
            with alone_here(Path(into.directory)):
                commits.commit(*batch, lambda _: {})

    beside = threading.Thread(target=compact)
    members = [threading.Thread(target=member, args=(p,)) for p in range(2)]
    for thread in (beside, *members):
        thread.start()
    for thread in members:
        thread.join()
    ended.set()
    beside.join()
    assert errors == []
    assert sum(merged) > 10
    assert offsets(into) == {p: list(range(36)) for p in range(2)}


def test_partition_values_of_all_kinds_are_found(tmp_path: Path) -> None:
    columns = (VALUE,)
    into = target(tmp_path, columns, ("value.country", "day"))
    prepare(into)
    commits = Commits(into)
    for start in range(0, 40, 8):
        taken(commits, into, {0: range(start, start + 8)})
    compaction = Compaction(Path(into.directory))
    found = compaction.partitions(MB, 5)
    assert {one.values["country"] for one in found} == {"de", "a b/%", None}
    for one in found:
        merged, made = compaction.compact(one, MB)
        assert (merged, made) == (one.files, 1)
    assert DeltaTable(into.directory).to_pyarrow_table().num_rows == 40


def test_vacuum_removes_what_was_never_added(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    taken(Commits(into), into, {0: range(3)})
    written(into, {0: range(3, 5)})  # and its driver is killed
    (stray,) = (
        one
        for one in Path(into.directory).rglob("*.parquet")
        if str(one.relative_to(into.directory)) not in _paths(into.directory)
    )
    compaction = Compaction(Path(into.directory))
    assert compaction.vacuum(169) == 0
    old = time.time() - 200 * 3600
    os.utime(stray, (old, old))
    assert compaction.vacuum(169) == 1
    assert not stray.exists()
    assert offsets(into) == {0: [0, 1, 2]}
    with pytest.raises(DeltaError, match="keeps removed files for longer than 2 hours"):
        compaction.vacuum(2)


def test_deletion_vectors_are_not_removed(tmp_path: Path) -> None:
    """delta-rs would do it: Spark could no longer read the table."""
    into = prepared(tmp_path)
    table = DeltaTable(into.directory)
    table.alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    vectors = Path(into.directory) / "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    vectors.touch()
    old = time.time() - 200 * 3600
    os.utime(vectors, (old, old))
    with pytest.raises(DeltaError, match="would also remove the table's deletion vectors"):
        Compaction(Path(into.directory)).vacuum(169)
    assert vectors.exists()


def _paths(directory: str) -> list[str]:
    root = f"{Path(directory).resolve()}/"
    uris = DeltaTable(directory).file_uris()
    return [uri.removeprefix("file://").removeprefix(root) for uri in uris]


def test_what_cannot_be_compacted_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeltaError, match="There is no Delta table at"):
        Compaction(tmp_path / "none")


def test_what_delta_rs_cannot_merge_is_an_error(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    for start in range(2):
        taken(Commits(into), into, {0: range(start, start + 1)})
    table = DeltaTable(into.directory)
    table.alter.add_feature(TableFeatures.RowTracking, allow_protocol_versions_increase=True)
    compaction = Compaction(Path(into.directory))
    (one,) = compaction.partitions(MB, 2)
    with pytest.raises(DeltaError, match=r"Files of .* not merged: Unsupported table feat"):
        compaction.compact(one, MB)
    assert offsets(into) == {0: [0, 1]}


def test_another_process_waits_for_the_lock(tmp_path: Path) -> None:
    other = (
        "import fcntl, sys; lock = open(sys.argv[1], 'a'); "
        "fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    )
    command = [sys.executable, "-c", other, str(tmp_path / LOCK)]
    with alone_here(tmp_path):
        assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 1
    assert f"process {os.getpid()} since" in (tmp_path / LOCK).read_text()
    assert subprocess.run(command, check=False).returncode == 0
