from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

import pyspark_zkgroup
from pyspark_zkgroup.backoff import delays


class Always(Random):
    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


def test_delays_double_up_to_the_most() -> None:
    drawn = list(islice(delays(Always(1.0), first_s=0.1, factor=2, most_s=0.5), 5))
    assert drawn == pytest.approx([0.1, 0.2, 0.4, 0.5, 0.5])


def test_a_delay_is_at_least_half_of_its_ceiling() -> None:
    drawn = list(islice(delays(Always(0.0), first_s=0.1, factor=2, most_s=0.5), 5))
    assert drawn == pytest.approx([0.05, 0.1, 0.2, 0.25, 0.25])


@pytest.mark.parametrize(
    ("first_s", "factor", "most_s"), [(0, 2, 1), (2, 2, 1), (0.1, 0.5, 1), (-1, 2, 1)]
)
def test_an_impossible_backoff_is_refused(first_s: float, factor: float, most_s: float) -> None:
    with pytest.raises(ValueError, match="not a back-off"):
        next(delays(Random(), first_s=first_s, factor=factor, most_s=most_s))


def test_random_numbers_can_be_given_from_outside() -> None:
    """A draw of one's own makes a story of the simulation that no seed can repeat."""
    package = Path(pyspark_zkgroup.__file__).parent
    drawn = {
        str(path.relative_to(package))
        for room in ("group", "kafka", "planning", "protocols", "zk")
        for path in sorted((package / room).rglob("*.py"))
        if "Random()" in path.read_text(encoding="utf-8").replace("rng or Random()", "")
    }
    assert drawn == set()
