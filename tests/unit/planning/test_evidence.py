"""Which batches Spark's own logs show as finished."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.planning import evidence
from pyspark_zkgroup.planning.evidence import batch_is_committed, local_directory


def end(offset: int) -> dict[str, Any]:
    return {"version": 2, "ranges": [offset]}


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four batches that end at 0, 1, 2 and 3, all of them committed."""
    monkeypatch.setattr(evidence, "_WAIT_S", 0.0)
    for directory in ("offsets", "commits"):
        (tmp_path / directory).mkdir()
    for batch in range(4):
        lines = ["v1", '{"batchWatermarkMs":0}', json.dumps(end(batch))]
        (tmp_path / "offsets" / str(batch)).write_text("\n".join(lines))
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    (tmp_path / "offsets" / ".9.crc").write_text("")
    return tmp_path


@pytest.mark.parametrize(("batch", "expected"), [(3, True), (2, True), (1, False), (7, False)])
def test_only_the_two_newest_batches_can_be_the_last_one(
    checkpoint: Path, batch: int, expected: bool
) -> None:
    assert batch_is_committed(str(checkpoint), end(batch)) is expected


def test_a_batch_that_spark_has_not_committed_is_no_evidence(checkpoint: Path) -> None:
    (checkpoint / "commits" / "3").unlink()
    assert not batch_is_committed(f"file://{checkpoint}", end(3))
    assert batch_is_committed(f"file://{checkpoint}", end(2))


def test_batches_are_ordered_by_number(checkpoint: Path) -> None:
    for batch in (9, 10):
        (checkpoint / "offsets" / str(batch)).write_text(json.dumps(end(batch)))
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
    assert batch_is_committed(str(checkpoint), end(10))
    assert batch_is_committed(str(checkpoint), end(9))
    assert not batch_is_committed(str(checkpoint), end(3))


def test_a_commit_is_waited_for_while_spark_lives(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = checkpoint / "commits" / "3"
    commit.unlink()
    monkeypatch.setattr(evidence, "_WAIT_S", 2.0)
    monkeypatch.setattr(time, "sleep", lambda _seconds: commit.write_text("v1\n{}"))
    assert batch_is_committed(str(checkpoint), end(3))
    commit.unlink()
    parents = iter([os.getppid(), 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    assert not batch_is_committed(str(checkpoint), end(3))


def test_where_a_checkpoint_can_be_read() -> None:
    assert local_directory("/a b") == local_directory("file:///a%20b") == Path("/a b")
    assert local_directory("dbfs:/a") == Path("/dbfs/a")
    assert local_directory("s3a://bucket/a") is None
    assert not batch_is_committed("s3a://bucket/a", end(3))
