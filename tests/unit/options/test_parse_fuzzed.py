"""Whatever options are given: they are taken as they are, or refused by name with a remedy."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.harness.fuzzed_options import case, check


@pytest.mark.parametrize(
    "cases", [2_000, pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_random_options_are_taken_or_refused_with_a_reason(cases: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(cases):
        check(case(Random(seed)), outcomes)
    assert outcomes["accepted"] > cases / 10
    assert outcomes["refused"] > cases / 10
