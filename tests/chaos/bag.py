"""Which fault comes next: at random by the seed, and each kind as often as the others. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence


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
