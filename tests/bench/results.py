"""What was measured as plain objects: the list in bench.json, each with its `case`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.bench.cases import CASES, DECODE, MEMORY, TRIGGER
from tests.bench.decode import Decoded
from tests.bench.memory import Memory
from tests.bench.throughput import Compared, Run
from tests.bench.trigger import Latency

ENVIRONMENT = "environment"
Result = dict[str, Any]


def of_throughput(found: Compared) -> Result:
    return {
        "case": found.case.name,
        "ours_rows_s": round(found.rows_s("ours")),
        "peer_rows_s": round(found.rows_s("peer")),
        "ratio": round(found.ratio(), 3),
        "ratio_with_planning": round(found.ratio("trigger_s"), 3),
        "ratio_whole_query": round(found.ratio("wall_s"), 3),
        "rows": found.topic.rows,
        "compression": round(found.topic.compression, 2),
        "ours_runs": [_of_run(run) for run in found.ours],
        "peer_runs": [_of_run(run) for run in found.peer],
        "ours_spread": _spread(found.ours),
        "peer_spread": _spread(found.peer),
    }


def of_latencies(found: Iterable[Latency]) -> list[Result]:
    """One object for each setting of the sockets."""
    by_setting: dict[bool, dict[str, Latency]] = {}
    for latency in found:
        by_setting.setdefault(latency.unix_sockets, {})[latency.who] = latency
    results = []
    for unix_sockets, each in by_setting.items():
        result: Result = {"case": f"{TRIGGER}-{'unix-sockets' if unix_sockets else 'tcp'}"}
        for who, latency in each.items():
            result[f"{who}_p50_ms"] = latency.p50
            result[f"{who}_p95_ms"] = round(latency.p95, 1)
            result[f"{who}_add_batch_p50_ms"] = latency.add_batch_p50
            result[f"{who}_triggers"] = len(latency.trigger_ms)
        result["ratio_to_peer"] = round(each["ours"].p50 / each["peer"].p50, 3)
        result["ratio_to_ready"] = round(each["ours"].p50 / each["ready"].p50, 3)
        results.append(result)
    return results


def of_decode(found: Decoded) -> Result:
    return {
        "case": f"{DECODE}-{found.size}-{found.codec}",
        "rows_s_per_core": round(found.rows_s),
        "rows": found.rows,
        "seconds": [round(s, 4) for s in found.seconds],
    }


def of_memory(found: Memory) -> Result:
    return {
        "case": f"{MEMORY}-{found.what}",
        "rows": found.rows,
        "idle_mb": round(found.idle_mb, 1),
        "peak_mb": round(found.peak_mb, 1),
        "above_idle_mb": round(found.above_mb, 1),
    }


def throughput(results: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [r for r in results if r["case"] in CASES]


def others(results: Iterable[Mapping[str, Any]], section: str) -> list[Mapping[str, Any]]:
    return [r for r in results if r["case"].startswith(f"{section}-")]


def environment(results: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((r for r in results if r["case"] == ENVIRONMENT), {})


def write(results: list[Result], path: Path) -> None:
    """Whole or not at all: a reader may look while the next bench runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def _of_run(run: Run) -> Result:
    return {
        "rows": run.rows,
        "add_batch_s": round(run.batch_s, 3),
        "trigger_s": round(run.trigger_s, 3),
        "wall_s": round(run.wall_s, 3),
    }


def _spread(runs: Iterable[Run]) -> list[int]:
    """Slowest and fastest, rows per second."""
    found = sorted(round(run.rows / run.batch_s) for run in runs)
    return [found[0], found[-1]]
