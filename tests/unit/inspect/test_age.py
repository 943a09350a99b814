"""Ages and clock times as they are written."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from pyspark_zkgroup.inspect.age import age, clock_time


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0 s"), (8, "8 s"), (300, "5 min"), (11_520, "3.2 h"), (1e6, "12 d")]
)
def test_an_age_has_the_unit_that_tells_enough(seconds: float, text: str) -> None:
    assert age(seconds * 1000) == text


def test_a_clock_time_is_that_of_the_calendar() -> None:
    """Each day of two centuries, with every leap year's rule among them."""
    for day in range(73_500):
        second = day * 86_400 + day * 7919 % 86_400
        expected = datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
        assert clock_time(second * 1000 + 999) == expected
