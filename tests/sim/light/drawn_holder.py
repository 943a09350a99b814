"""Draws the light member that a fault is about: one that holds partitions by then."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.sim.light.member import LightDriver

if TYPE_CHECKING:
    from tests.sim.light.scene import LightScene

_LOOK_S = 0.1
_LOOKS_MAX = 300


def with_a_holder(
    scene: LightScene,
    rng: Random,
    after_s: float,
    fits: Callable[[LightDriver], bool],
    fault: Callable[[LightDriver], None],
) -> None:
    """Begin the fault with a holder that fits, as soon as there is one."""
    looks = _LOOKS_MAX

    def begin() -> None:
        nonlocal looks
        looks -= 1
        if scene.healing or scene.world.over:
            return
        light = [d for d in scene.cast.running if isinstance(d, LightDriver)]
        awake = [d for d in light if d.membership.holdings.held and not d.process.access.paused]
        found = [d for d in awake if fits(d)]
        if found:
            fault(rng.choice(found))
        elif looks:
            scene.world.after(_LOOK_S, begin)

    scene.world.after(after_s, begin)
