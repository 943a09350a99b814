"""Metrics as text in Prometheus' exposition format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Labels: TypeAlias = Mapping[str, object]
Metric: TypeAlias = tuple[str, str, str, Sequence[tuple[Labels, float]]]
"""Name, type, help, and samples."""


def exposition(metrics: Iterable[Metric]) -> str:
    """HELP, TYPE and all samples of a metric together; none of a metric without samples."""
    out: list[str] = []
    for name, kind, about, samples in metrics:
        if not samples:
            continue
        out += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        out += [f"{name}{_labels(labels)} {value}" for labels, value in samples]
    return "".join(line + "\n" for line in out)


def _labels(labels: Labels) -> str:
    shown = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return "{" + shown + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
