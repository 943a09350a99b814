"""Native parsers of formats and references in plain Python make the same of any bytes."""

from __future__ import annotations

import random
import time

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from tests.harness.format_fuzz import FORMATS, fuzz

SECONDS = 2.0


@pytest.mark.parametrize("name", FORMATS)
def test_any_bytes_are_read_as_by_the_reference_or_refused(name: str) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    tally = fuzz(name, seed, SECONDS)
    assert tally.findings == [], tally.findings[0]
    assert min(tally.bad, tally.values - tally.bad) > 10, tally


@pytest.mark.parametrize("name", FORMATS)
def test_the_reference_notices_another_row(name: str) -> None:
    chance, noticed = random.Random(1), 0
    for _ in range(10):
        drawn = FORMATS[name](chance)
        value = drawn.value()
        (piece,) = drawn.parser.parse(pa.array([value], pa.binary()))
        if piece.bad == 0:
            noticed += drawn.disagreement(value, "another row", None) is not None
    assert noticed
