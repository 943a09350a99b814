"""From runs to bench.json, the tables, the chart and the README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.bench import chart, report, results
from tests.bench.cases import CASES, BenchError
from tests.bench.decode import Decoded
from tests.bench.machine import Machine
from tests.bench.memory import Memory
from tests.bench.publish import BEGIN, END, publish, with_table
from tests.bench.report import SUMMARY
from tests.bench.throughput import Compared, Run, timed
from tests.bench.topics import Topic
from tests.bench.trigger import Latency, Who

TOPIC = Topic("t", rows=1_000_000, stored_bytes=50, plain_bytes=100)


def run(batch_s: float) -> Run:
    return Run(1_000_000, batch_s, trigger_s=batch_s + 0.5, wall_s=batch_s + 2)


def compared(name: str = "100B-lz4-noop") -> Compared:
    ours = (run(0.5), run(0.4), run(1.0))
    return Compared(CASES[name], TOPIC, ours, (run(1.0), run(1.25), run(2.0)))


def everything() -> list[results.Result]:
    medians: dict[Who, int] = {"peer": 100, "ours": 130, "ready": 120}
    latencies = [
        Latency(who, unix, tuple(range(p50 - 10, p50 + 11)), (p50 // 2,))
        for unix in (True, False)
        for who, p50 in medians.items()
    ]
    machine = Machine("A CPU", "2 of 8", 16.0, "Linux", "3.11", "17", "4.2", "20", "native", 0.1)
    environment = {
        "case": results.ENVIRONMENT,
        **machine.as_dict(),
        "kafka": "3.9.1",
        "spark": {"spark.master": "local[2]"},
        "topics": "4 partitions",
        "repeats": 3,
        "peer": "its defaults",
    }
    return [
        results.of_throughput(compared()),
        results.of_throughput(compared("10kB-none-parquet")),
        *results.of_latencies(latencies),
        results.of_decode(Decoded("100B", "none", 1_000, (0.001, 0.0001, 0.01))),
        results.of_memory(Memory("10M-none", 10_000_000, 100.0, 180.0)),
        environment,
    ]


def test_medians_ratio_and_spread() -> None:
    found = results.of_throughput(compared())

    assert found["case"] == "100B-lz4-noop"
    assert (found["ours_rows_s"], found["peer_rows_s"]) == (2_000_000, 800_000)
    assert found["ratio"] == 2.5
    assert found["ratio_with_planning"] == 1.75
    assert found["ours_spread"] == [1_000_000, 2_500_000]
    assert found["compression"] == 2.0


def test_a_run_is_timed_by_the_batches_that_read_something() -> None:
    progress = [
        {"numInputRows": rows, "durationMs": {"addBatch": 1_000, "triggerExecution": 1_200}}
        for rows in (300, 700)
    ]

    assert timed(progress, 9.0) == Run(1_000, batch_s=2.0, trigger_s=2.4, wall_s=9.0)


def test_triggers_are_compared_with_the_peer_and_the_bare_source() -> None:
    unix, tcp = results.others(everything(), "trigger-latency")

    assert unix["case"] == "trigger-latency-unix-sockets"
    assert tcp["case"] == "trigger-latency-tcp"
    assert unix["ratio_to_peer"] == 1.3
    assert unix["ratio_to_ready"] == 1.083
    assert (unix["ours_p50_ms"], unix["ours_p95_ms"]) == (130, 139)


def test_the_file_is_a_list_of_cases(tmp_path: Path) -> None:
    results.write(everything(), tmp_path / "build" / "bench.json")

    read = json.loads((tmp_path / "build" / "bench.json").read_text())
    assert {"case", "ours_rows_s", "peer_rows_s", "ratio"} <= set(read[0])
    assert all(isinstance(result["case"], str) for result in read)
    assert [p.name for p in (tmp_path / "build").iterdir()] == ["bench.json"]


def test_the_terminal_shows_every_table_and_where_it_was_measured() -> None:
    console = Console(record=True, width=160)
    report.show(everything(), console)

    shown = console.export_text()
    for part in ("2.00 M", "800 k", "2.50", "bare Python source", "1.00 M", "A CPU", "local[2]"):
        assert part in shown


def test_no_result_shows_nothing() -> None:
    console = Console(record=True)
    report.show([], console)

    assert console.export_text().strip() == ""


def test_published_results_stand_between_the_marks_once(tmp_path: Path) -> None:
    readme, page, build = tmp_path / "README.md", tmp_path / "docs" / "b.md", tmp_path / "build"
    page.parent.mkdir()
    for path in (readme, page):
        path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    results.write(everything(), build / "bench.json")
    chart.draw(results.throughput(everything()), "two cores", build / "bench.png")

    publish(readme, page, build)
    once = page.read_text()
    publish(readme, page, build)

    assert page.read_text() == once
    assert once.startswith(f"before\n{BEGIN}\n")
    assert once.endswith(f"{END}\nafter\n")
    assert "| 100B-lz4-noop | 2.00 M |" in once
    assert "old" not in once + readme.read_text()
    assert (page.parent / "bench.png").read_bytes()[:4] == b"\x89PNG"


def test_the_readme_shows_only_some_cases_and_in_words() -> None:
    measured = [results.of_throughput(compared(name)) for name in ("1kB-none-noop", "100B-delta")]
    shown = report.summary(measured)
    assert [line.split(" | ")[0] for line in shown.splitlines()[2:]] == [
        "| 1 kB records, no compression, rows discarded"
    ]
    assert set(SUMMARY) < set(CASES)


@pytest.mark.parametrize("text", ["nothing", f"{END} {BEGIN}", BEGIN])
def test_a_page_without_a_place_is_not_touched(text: str) -> None:
    with pytest.raises(BenchError, match="no place"):
        with_table(text, "table")


def test_nothing_measured_is_nothing_to_publish(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"bench.json is not there. Run: make bench"):
        publish(tmp_path / "README.md", tmp_path / "page.md", tmp_path)


@pytest.mark.parametrize("name", ["README.md", "docs/benchmarks.md"])
def test_the_pages_of_this_project_have_a_place(name: str) -> None:
    page: Any = Path(__file__).resolve().parents[2] / name
    assert with_table(page.read_text(encoding="utf-8"), "table")
