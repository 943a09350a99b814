"""Which fault comes next: at random by the seed, and each kind as often as the others. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence


def drawn(kinds: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Whole bags of all kinds, each shuffled, one after the other; never one kind twice in a row
    where there is another.
    """
    last = ""
    while True:
        bag = list(kinds)
        rng.shuffle(bag)
        if bag[0] == last:
            bag.append(bag.pop(0))
        for kind in bag:
            yield kind
            last = kind


def paired(
    kinds: Iterator[str], share: float, may: Callable[[str, str], bool]
) -> Iterator[tuple[str, ...]]:
    """The same kinds in the same order, that share of them with the next one on top, evenly spread.
    Where these two may not be together, the next two that may are.
    """
    owed, held = 0.0, next(kinds)
    while True:
        first, held = held, next(kinds)
        owed += share
        if owed >= 1.0 and may(first, held):
            owed -= 1.0
            yield first, held
            held = next(kinds)
        else:
            yield (first,)
