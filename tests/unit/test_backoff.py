from __future__ import annotations

from itertools import islice
from random import Random

import pytest

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
