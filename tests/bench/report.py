"""The results as tables: for the terminal, and as Markdown for docs/benchmarks.md and README.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.cases import DECODE, MEMORY, TRIGGER
from tests.bench.results import environment, others, throughput

SUMMARY = {
    "100B-none-noop": "100 B records, no compression, rows discarded",
    "100B-zstd-parquet": "100 B records, zstd, written as Parquet",
    "1kB-none-noop": "1 kB records, no compression, rows discarded",
    "1kB-zstd-parquet": "1 kB records, zstd, written as Parquet",
    "10kB-lz4-parquet": "10 kB records, lz4, written as Parquet",
}
"""The cases that README.md shows, in words."""
HOW = (
    "one micro-batch reads the whole topic. Rows per second are its rows divided by the time that "
    "Spark reports as addBatch (the tasks read, the sink writes); the table has the median of the "
    "runs. Starting the query and planning are not included for either source; "
    "ratio_with_planning in bench.json includes the planning"
)


@dataclass(frozen=True)
class Grid:
    """A table: its first column holds names, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(results: Sequence[Mapping[str, Any]], *, spread: bool) -> list[Grid]:
    made = [
        _with_spread(throughput(results)) if spread else _throughput(throughput(results)),
        _trigger(others(results, TRIGGER)),
        _decode(others(results, DECODE)),
        _memory(others(results, MEMORY)),
    ]
    return [grid for grid in made if grid.rows]


def head(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where, with what and how it was measured, a line each."""
    e = environment(results)
    if not e:
        return []
    return [
        f"{e['cpu']}, cores: {e['cores']}; {e['memory_gb']} GB; {e['system']}; "
        f"load at the start {e['load_at_start']}",
        f"PySpark {e['pyspark']}, Kafka {e['kafka']}, {e['java']}, Python {e['python']}, "
        f"pyarrow {e['pyarrow']}; decoder: {e['decoder']}",
        "Spark: " + ", ".join(f"{k}={v}" for k, v in e["spark"].items()),
        f"Topics: {e['topics']}",
        f"Runs: {e['repeats']} of each after one warm-up; {HOW}",
        f"Spark's own source: {e['peer']}",
    ]


def show(results: Sequence[Mapping[str, Any]], console: Console) -> None:
    for line in head(results):
        console.print(line, style="dim", highlight=False)
    for grid in grids(results, spread=True):
        table = Table(title=grid.title, title_justify="left")
        table.add_column(grid.columns[0])
        for column in grid.columns[1:]:
            table.add_column(column, justify="right")
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def markdown(results: Sequence[Mapping[str, Any]]) -> str:
    """Return every table, and the conditions of the run, for docs/benchmarks.md."""
    parts = []
    for grid in grids(results, spread=False):
        parts += [f"**{grid.title}**", _table(grid.columns, grid.rows)]
    parts.append("\n".join(f"- {line}" for line in head(results)))
    return "\n\n".join(parts)


def summary(results: Sequence[Mapping[str, Any]]) -> str:
    """Return a few rows of the throughput table, for README.md."""
    whole = _throughput([r for r in throughput(results) if r["case"] in SUMMARY])
    rows = [(SUMMARY[case], *numbers) for case, *numbers in whole.rows]
    return _table(("rows per second", *whole.columns[1:]), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in columns[1:])]
    return "\n".join(map(_line, (columns, rule, *rows)))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _throughput(found: Sequence[Mapping[str, Any]]) -> Grid:
    rows = tuple(
        (r["case"], _count(r["ours_rows_s"]), _count(r["peer_rows_s"]), f"{r['ratio']:.2f}")
        for r in found
    )
    return Grid("Rows per second", ("case", "zkgroup", "Spark's own source", "ratio"), rows)


def _with_spread(found: Sequence[Mapping[str, Any]]) -> Grid:
    """Also the slowest and the fastest run, and the ratio of the whole triggers."""
    short = _throughput(found)
    rows = tuple(
        (
            *(name, ours, _spread(r["ours_spread"]), peer, _spread(r["peer_spread"]), ratio),
            f"{r['ratio_with_planning']:.2f}",
        )
        for (name, ours, peer, ratio), r in zip(short.rows, found, strict=True)
    )
    name, ours, peer, ratio = short.columns
    return Grid(short.title, (name, ours, "runs", peer, "runs", ratio, "with planning"), rows)


def _trigger(found: Sequence[Mapping[str, Any]]) -> Grid:
    names = {"peer": "Spark's own source", "ours": "zkgroup", "ready": "bare Python source"}
    rows = []
    for r in found:
        sockets = "Unix sockets" if r["case"].endswith("unix-sockets") else "TCP (Spark's default)"
        for who, name in names.items():
            p50 = r[f"{who}_p50_ms"]
            rows.append(
                (
                    f"{name}, {sockets}",
                    f"{p50:.0f}",
                    f"{r[f'{who}_p95_ms']:.0f}",
                    f"{r[f'{who}_add_batch_p50_ms']:.0f}",
                    f"{p50 / r['peer_p50_ms']:.2f}",
                    f"{p50 / r['ready_p50_ms']:.2f}",
                )
            )
    columns = (
        "source, workers' sockets",
        "p50 ms",
        "p95 ms",
        "addBatch p50",
        "p50 / Spark's",
        "p50 / bare",
    )
    return Grid("Triggers of 1,000 rows in 4 tasks", columns, tuple(rows))


def _decode(found: Sequence[Mapping[str, Any]]) -> Grid:
    rows = tuple(
        (r["case"].removeprefix(f"{DECODE}-"), _count(r["rows_s_per_core"])) for r in found
    )
    return Grid("Decoding alone, one core, checksums checked", ("records", "rows/s"), rows)


def _memory(found: Sequence[Mapping[str, Any]]) -> Grid:
    columns = ("case", "records read", "idle MB", "peak MB", "above idle MB")
    rows = tuple(
        (
            r["case"].removeprefix(f"{MEMORY}-"),
            f"{r['rows']:,}",
            f"{r['idle_mb']:.0f}",
            f"{r['peak_mb']:.0f}",
            f"{r['above_idle_mb']:.0f}",
        )
        for r in found
    )
    return Grid("Memory of a task's Python worker", columns, rows)


def _count(number: float) -> str:
    if number >= 999_500:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.0f} k" if number >= 9_950 else f"{number / 1e3:.1f} k"


def _spread(slowest_fastest: Sequence[float]) -> str:
    return " to ".join(map(_count, slowest_fastest))
