"""Draws the faults of a scene: each occurs at a time, and most then wait for a certain step of a
process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from tests.sim.process import Process

if TYPE_CHECKING:
    from tests.sim.scene import Scene

Of = TypeVar("Of", bound="Scene")

SKIPS = (0, 0, 1, 2, 4, 8)


# The share of faults that another one follows at once.
_OVERLAPPING = 0.2


def draw(
    scene: Of, faults: Mapping[str, tuple[int, Callable[[Of], bool]]], numbers: Sequence[int]
) -> None:
    """Draw as many faults as one of `numbers`, each by its weight. A fault returns whether it has
    begun. Some come in pairs, the second before the first is over.
    """
    rng = scene.rng
    weights = [weight for weight, _ in faults.values()]

    def befall(name: str) -> None:
        if not scene.world.over and not scene.healing and faults[name][1](scene):
            scene.befell(name)

    for _ in range(rng.choice(numbers)):
        at_s = 0.5 + rng.random() * 25.0
        names = rng.choices(list(faults), weights, k=2 if rng.random() < _OVERLAPPING else 1)
        scene.counts["overlapping faults"] += len(names) > 1
        for name in names:
            scene.world.after(at_s, lambda name=name: befall(name))  # type: ignore[misc]
            at_s += rng.random()


def at_step(
    scene: Scene,
    process: Process,
    points: Sequence[str],
    act: Callable[[], None],
    name: str,
    *,
    skips: Sequence[int] = SKIPS,
    gone: Callable[[], bool] = lambda: False,
) -> None:
    """Act at one of the process's next steps, one whose name begins as one of `points`."""
    point = scene.rng.choice(points)
    skip = scene.rng.choice(skips)

    def told() -> None:
        if not scene.healing and not scene.world.over and not gone():
            scene.world.tell(f"** {name}: {process.name} (at {point or 'any step'})")
            act()

    process.at(point, told, skip)
