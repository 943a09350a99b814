"""How long to wait before asking again."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


def delays(
    rng: Random, *, first_s: float = 0.05, factor: float = 2.0, most_s: float = 2.0
) -> Iterator[float]:
    """An endless run of delays, each up to `factor` times the last, never above `most_s`.

    Every delay is drawn between half of it and all of it. Two tasks that lose the same broker at
    the same moment would otherwise come back at the same moments, all of them.
    """
    if not (0 < first_s <= most_s and factor >= 1):
        raise ValueError(f"not a back-off: first {first_s}, factor {factor}, most {most_s}")
    ceiling = first_s
    while True:
        yield ceiling * (0.5 + rng.random() / 2)
        ceiling = min(most_s, ceiling * factor)
