"""The ratios as a picture: one bar per case, grouped by record size, each with its floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")  # no window is opened, wherever this runs

from matplotlib import pyplot as plt
from matplotlib.patches import Patch

COLOURS = {"noop": "#2f6f9f", "parquet": "#9fc3dd", "delta": "#d98c3f"}
OTHERS = "#5a8f5a"
ROW_INCHES = 0.3


def draw(throughput: Sequence[Mapping[str, Any]], subtitle: str, path: Path) -> None:
    cases = list(reversed(throughput))
    figure, axes = plt.subplots(figsize=(9, 1.6 + ROW_INCHES * len(cases)), layout="constrained")
    for at, result in enumerate(cases):
        sink = result["case"].rpartition("-")[2]
        axes.barh(at, result["ratio"], color=COLOURS.get(sink, OTHERS), height=0.75)
        ours, peer = (result[f"{side}_rows_s"] / 1e3 for side in ("ours", "peer"))
        label = f" {result['ratio']:.2f}   ({ours:,.0f} k : {peer:,.0f} k rows/s)"
        axes.text(result["ratio"], at, label, va="center", fontsize=8)
    axes.axvline(1, color="#444444", linewidth=1)
    axes.set_yticks(range(len(cases)), [result["case"] for result in cases], fontsize=8)
    axes.set_xlim(0, 1.45 * max(1.0, *(result["ratio"] for result in cases)))
    axes.set_xlabel("times the rows per second of Spark's own Kafka source (1 is equal)")
    figure.suptitle("zkgroup compared with Spark's own Kafka source", fontsize=12)
    axes.set_title(subtitle, fontsize=8)
    axes.legend(
        handles=[Patch(color=colour, label=f"{sink} sink") for sink, colour in COLOURS.items()],
        loc="lower right",
        fontsize=8,
    )
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
