"""Which fault each case has, and what it is called: drawn by a seed, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

# What may be wrong, each in several ways.
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "stuck owner": ("node without a member", "member that hangs", "session of no member"),
    "member owning nothing": ("more threads", "misspelt topic", "small topics"),
    "lagging partition": ("hot partition", "slow reader"),
    "lost offsets": ("under its members", "with their reader", "by retention"),
    "wrong assignor in one member": ("the last one", "the first one", "after a pause"),
    "dead coordinator": ("killed", "ended", "stopped"),
}
# The same for groups that the brokers coordinate.
BROKERED_VARIANTS: Mapping[str, tuple[str, ...]] = {
    "member without partitions": ("more members", "misspelt topic"),
    "lagging partition": ("hot partition", "slow reader", "stuck reader"),
    "offsets outside the log": ("beyond the end", "by retention"),
    "rebalance storm": ("restarted again and again", "slow to poll"),
    "mixed assignors": ("refused", "eager in all"),
    "classic members": ("queries", "a plain consumer"),
}
KINDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "zookeeper": VARIANTS,
    "kafka": BROKERED_VARIANTS,
}
# Names that tell nothing.
_GROUPS = (
    *("alder", "aspen", "birch", "cedar", "hazel", "juniper", "larch", "linden", "maple", "rowan"),
    *("spruce", "willow"),
)
_TOPICS = (
    *("orders", "payments", "shipments", "invoices", "refunds", "visits", "readings", "alerts"),
    *("logins", "baskets", "ratings", "messages", "bookings", "journeys", "parcels", "tickets"),
    *("quotes", "recipes", "sessions", "surveys"),
)
TOPICS_EACH = 3


@dataclass(frozen=True)
class Drawn:
    """One case. `luck` decides the rest: which member, which partitions."""

    number: int
    fault: str
    variant: str
    group: str
    topics: tuple[str, ...]
    luck: str

    def dice(self) -> random.Random:
        return random.Random(self.luck)


def draw(seed: int, kind: str = "zookeeper") -> tuple[Drawn, ...]:
    dice, variants = random.Random(f"exercise {seed}"), KINDS[kind]
    faults = dice.sample(sorted(variants), len(variants))
    groups = dice.sample(_GROUPS, len(faults))
    topics = dice.sample(_TOPICS, TOPICS_EACH * len(faults))
    return tuple(
        Drawn(
            number,
            fault,
            dice.choice(variants[fault]),
            group,
            tuple(topics[TOPICS_EACH * (number - 1) : TOPICS_EACH * number]),
            f"exercise {seed}, case {number}",
        )
        for number, (fault, group) in enumerate(zip(faults, groups, strict=True), 1)
    )
