"""Draws what one query of a scene does: its options, its sink, and how fast it is."""

from __future__ import annotations

from random import Random

from pyspark_zkgroup.options.group import MAX_POLL_INTERVAL
from tests.sim.query import Query, SinkKind


def draw(name: str, options: dict[str, str], rng: Random, *, may_end: bool) -> Query:
    if rng.random() < 0.35:
        options["member.id"] = name
    evidence = rng.random() < 0.5
    if evidence:
        options["checkpointLocation"] = f"/checkpoints/{name}"
    sink: SinkKind = rng.choice(["append", "by batch id", "by batch id", "by offset"])
    return Query(
        name,
        options,
        sink=sink,
        evidence=evidence,
        available_now=rng.random() < 0.1 and may_end,
        interval_s=rng.choice([0.3, 1.0, 1.0, 3.0]),
        batch_s=rng.choice([0.05, 0.3, 1.0, 3.0]),
    )


def longest_silence(seed: int, name: str) -> dict[str, str]:
    """Drawn separately: which query has one changes nothing of what else is drawn. Where the
    group has one for all, it is among the options.
    """
    rng = Random(f"{seed} {name}")
    limit_ms = rng.choice([0, 0, 0, 0, 8000, 15000])
    return {MAX_POLL_INTERVAL.name: str(limit_ms)} if limit_ms else {}
