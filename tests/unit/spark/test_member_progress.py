"""Progress of Spark read as that of a member, as Prometheus text, and kept by a listener."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.spark.listener import ProgressListener
from pyspark_zkgroup.spark.progress import read_progress
from pyspark_zkgroup.spark.prometheus import Totals, text

PLAN = {
    "version": 1,
    "protocol": "zookeeper",
    "group": "g",
    "member": "g_host-1-ab",
    "partitions": {
        "t": {
            "0": {"from": 5, "until": 10, "thread": 0, "fence": "1.2"},
            "1": {"from": 7, "until": 7, "thread": 1, "fence": "1.3"},
        }
    },
}
LATEST = {
    "version": 1,
    "member": "g_host-1-ab",
    "members": 2,
    "held": 2,
    "waiting": {"t-2": "g_other-0 owns it, for 3 s"},
    "waitingCount": 1,
    "dropped": 1,
    "dataLoss": {"events": 1, "records": 40},
    "notes": ["a note"],
    "lag": 12,
    "latest": {"t": {"0": 15, "1": 7}},
}


def progress_of(end: object = PLAN, latest: object = LATEST, **more: Any) -> dict[str, Any]:
    source = {
        "description": "zkgroup",
        "startOffset": None,
        "endOffset": end,
        "latestOffset": latest,
        "numInputRows": 5,
        "inputRowsPerSecond": "NaN",
        "processedRowsPerSecond": 50.0,
    }
    return {
        "id": "q1",
        "name": None,
        "batchId": 3,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "durationMs": {"triggerExecution": 100},
        "sources": [source],
        **more,
    }


@pytest.mark.parametrize("as_text", [True, False], ids=["text", "object"])
def test_offsets_come_as_objects_or_as_text(as_text: bool) -> None:
    shown = [json.dumps(value) if as_text else value for value in (PLAN, LATEST)]
    (member,) = read_progress(progress_of(*shown))
    assert (member.group, member.batch, member.rows, member.lag) == ("g", 3, 5, 12)
    assert [(p.start, p.end, p.latest, p.lag) for p in member.partitions] == [
        (5, 10, 15, 5),
        (7, 7, 7, 0),
    ]
    assert member.input_rows_per_second == 0.0
    assert member.waiting == LATEST["waiting"]
    as_dict = member.as_dict()
    assert as_dict["partitions"][0]["lag"] == 5
    assert json.loads(json.dumps(as_dict)) == as_dict


def test_other_sources_and_queries_without_a_batch_are_passed_over() -> None:
    assert read_progress(progress_of({"orders": {"0": 3}}, {"orders": {"0": 9}})) == ()
    assert read_progress(progress_of(None, None)) == ()
    assert read_progress(progress_of("not json", 7)) == ()
    assert read_progress({}) == ()


def test_before_anything_is_reported_the_plan_alone_tells() -> None:
    (member,) = read_progress(progress_of(PLAN, None))
    assert (member.member, member.held) == ("g_host-1-ab", 2)
    assert [p.lag for p in member.partitions] == [None, None]


def test_what_spark_4_0_and_4_1_do_not_pass_on_is_unknown_and_not_zero(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """There `latestOffset` is the plan once more."""
    (member,) = read_progress(progress_of(PLAN, PLAN))
    assert (member.held, member.lag, member.members) == (2, None, None)
    shown = text([(member, Totals())])
    assert "zkgroup_held_partitions{" in shown
    assert "zkgroup_members{" not in shown
    assert "zkgroup_lag_records{" not in shown
    caplog.set_level("INFO", logger="pyspark_zkgroup.progress")
    report = SimpleNamespace(json=json.dumps(progress_of(PLAN, PLAN)))
    ProgressListener().onQueryProgress(SimpleNamespace(progress=report, id="q1"))
    assert "lag unknown" in caplog.messages[0]
    assert "unknown members" in caplog.messages[0]


def test_prometheus_text_has_one_block_for_each_metric() -> None:
    (member,) = read_progress(progress_of(name='a "quoted"\\\nname'))
    shown = text([(member, Totals(rows=25, batches=4))])
    labels = r'{group="g",query="a \"quoted\"\\\nname"'
    assert f'zkgroup_lag_records{labels},topic="t",partition="0"}} 5\n' in shown
    assert f"zkgroup_rows_total{labels}}} 25\n" in shown
    assert f"zkgroup_data_loss_records_total{labels}}} 40\n" in shown
    lines = shown.splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert all(line.startswith(("# ", "zkgroup_")) for line in lines)
    assert text([]) == ""


def event(**more: Any) -> Any:
    report = progress_of(**more)
    return SimpleNamespace(progress=SimpleNamespace(json=json.dumps(report)), id=report["id"])


def test_a_listener_counts_serves_and_writes(tmp_path: Path) -> None:
    file = tmp_path / "zkgroup.prom"
    listener = ProgressListener(file=file, port=0)
    try:
        listener.onQueryProgress(event())
        listener.onQueryProgress(event())
        url = f"http://127.0.0.1:{listener.port}"
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            served = answer.read().decode()
        assert served == file.read_text()
        assert 'zkgroup_rows_total{group="g",query="q1"} 10\n' in served
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/other", timeout=10)
        listener.onQueryTerminated(event())
        assert listener.metrics() == file.read_text() == ""
        with pytest.raises(OptionError, match="Choose another port"):
            ProgressListener(port=listener.port)
    finally:
        listener.close()


def test_a_line_is_logged_when_something_happened(caplog: pytest.LogCaptureFixture) -> None:
    listener = ProgressListener()
    caplog.set_level("INFO", logger="pyspark_zkgroup.progress")
    idle = progress_of()
    idle["sources"][0]["numInputRows"] = 0
    quiet = SimpleNamespace(progress=SimpleNamespace(json=json.dumps(idle)), id="q1")
    for one in (event(), quiet, quiet, quiet):
        listener.onQueryProgress(one)
    assert len(caplog.messages) == 2
    assert "Group g, batch 3: 5 rows in 0.1 s, lag 12" in caplog.messages[0]
    assert "waiting for 1; 2 members; a note" in caplog.messages[0]


def test_a_file_that_cannot_be_written_does_not_hurt_the_query(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = ProgressListener(file=tmp_path / "missing" / "zkgroup.prom")
    listener.onQueryProgress(event())
    assert "[ZKG-143]" in caplog.text
