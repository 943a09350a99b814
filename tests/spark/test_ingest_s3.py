"""`delta.ingest` into a table in S3 while requests fail: each record is in the table once, and
nothing that Spark or we leave behind has the store's secret.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.harness.planted_secrets import (
    STORAGE_SECRET,
    WRONG_STORAGE_SECRET,
    leaks_in,
    leaks_of,
)
from tests.object_store.store import COMMIT, DATA, Store, started
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import produce

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PARTITIONS, EVENTS = 2, 300
QUERIES_S = 800.0


@pytest.fixture
def store() -> Iterator[Store]:
    with started() as running:
        yield running


def fault(kind: str, request: str, times: int, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "request": request, "times": times, **given}


def places(store: Store, table: str) -> list[tuple[str, int, int]]:
    rows = DeltaTable(table, storage_options=store.options).to_pyarrow_table()
    return sorted(
        (row["topic"], row["partition"], row["offset"])
        for row in rows.select(["topic", "partition", "offset"]).to_pylist()
    )


def test_each_record_is_in_the_table_once_whatever_request_fails(
    sandbox_41: Sandbox, store: Store, tmp_path: Path
) -> None:
    topic = f"ingest-s3-{uuid.uuid4().hex[:8]}"
    sandbox_41.create_topic(topic, PARTITIONS)
    expected = sorted(produce(sandbox_41.bootstrap_servers, topic, EVENTS).offsets())
    traces = tmp_path / "traces"
    (traces / "events").mkdir(parents=True)
    table, refused = store.new_place(), store.new_place()

    # As many repetitions as users have: local mode runs no task twice.
    good = {k: v for k, v in store.options.items() if k not in ("max_retries", "retry_timeout")}

    def query(group: str, into: str, *faults: dict[str, Any], **options: str) -> dict[str, Any]:
        """Each group reads the whole topic: one that has committed would leave nothing to write."""
        return {
            "options": {
                "protocol": "kafka",
                "kafka.bootstrap.servers": sandbox_41.bootstrap_servers,
                "group.id": f"{group}-{topic}",
                "subscribe": topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": "100",
            },
            "table": into,
            "checkpoint": str(traces / group),
            "storage_options": {**good, **options},
            "faults": faults,
        }

    queries = [
        query(
            "lost",
            table,
            fault("lost", COMMIT, 3),
            fault("lost", DATA, 3),
            fault("error", "GET", 4, status=503, code="SlowDown"),
        ),
        query("again", table, fault("slow", "PUT|GET", 10, seconds=0.1)),
        query("login", table, AWS_SECRET_ACCESS_KEY=WRONG_STORAGE_SECRET),
        query("tasks", refused, fault("error", DATA, 99, status=403, code="AccessDenied")),
    ]
    file = tmp_path / "told.json"
    told = {"store": store.url, "events": str(traces / "events"), "queries": queries}
    file.write_text(json.dumps(told), "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.s3_driver", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=QUERIES_S,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    lost, again, login, tasks = json.loads(ran.stdout.splitlines()[-1])

    assert lost.get("batches", 0) > 2, lost
    assert repeated(lost["requests"], COMMIT), "no answer of a commit was lost"
    assert repeated(lost["requests"], DATA), "no answer of a file was lost"
    assert places(store, table) == expected
    assert "batches" in again, again
    assert not any("PUT" in one and "_delta_log/0" in one for one in again["requests"])
    for found, where in ((login, table), (tasks, refused)):
        assert f"The object store of {where} refused the login or the access" in found["error"]
        assert "storage_options=" in found["error"]
    assert "Traceback" in ran.stderr, "no failure of a task was logged"

    assert "== Physical Plan ==" in ran.stdout, "nothing was explained"
    assert leaks_of(ran.stdout, ran.stderr) == []
    assert leaks_in(traces) == []
    for place in (table, refused):
        assert leaks_of(*store.objects(place).values()) == []
    assert leaks_in(tmp_path) == [f"{file}: {s}" for s in (STORAGE_SECRET, WRONG_STORAGE_SECRET)]


def repeated(requests: list[str], kind: str) -> list[str]:
    found = [one for one in requests if re.search(kind, one)]
    return sorted({one for one in found if found.count(one) > 1})
