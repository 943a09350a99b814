"""A member's stream breaks while its coordinator still looks the member up, and the member's next
stream is accepted before that look is answered.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.sim.light.member import LightDriver
from tests.sim.process import Trigger

if TYPE_CHECKING:
    from tests.sim.light.scene import LightScene

_SHARE = 0.1
_LOOK_S = 0.1
_LOOKS_MAX = 300
_SLOW_S = 2.0


def is_drawn(seed: int) -> bool:
    """Drawn separately from all else, so that a scene without it is unchanged."""
    return Random(f"{seed} crossed hellos").random() < _SHARE


def draw(scene: LightScene) -> None:
    rng = Random(f"{scene.seed} crossed hellos of")
    looks = _LOOKS_MAX

    def begin() -> None:
        nonlocal looks
        looks -= 1
        if scene.healing or scene.world.over:
            return
        running = [d for d in scene.cast.running if isinstance(d, LightDriver) and d.streams]
        held = [d for d in running if d.membership.holdings.held and not d.process.access.paused]
        if held and scene.serving() is not None:
            scene.befell("hellos cross")
            begin_with(scene, rng.choice(held))
        elif looks:
            scene.world.after(_LOOK_S, begin)

    scene.world.after(2.0 + rng.random() * 15.0, begin)


def begin_with(scene: LightScene, driver: LightDriver) -> None:
    world, office = scene.world, scene.serving()
    if office is None:
        return
    served_before = set(office.speaking)
    look = f"candidate nodes {scene.paths.id(driver.membership.member)}"

    def is_of_a_new_stream(step: str) -> bool:
        speaker = office.speaking.get(world.current)
        return (
            step == look
            and world.current not in served_before
            and speaker is not None
            and speaker.consumer == driver.membership.member
        )

    def look_up_slowly() -> None:
        world.tell(f"** {driver.name}'s stream breaks while {office.process.name} looks it up")
        scene.counts["hellos crossed"] += 1
        driver.streams[-1].break_()
        greeted = len(office.speaking)
        world.wait(_SLOW_S, lambda: len(office.speaking) > greeted)
        world.pause(scene.rng.random())

    office.process.triggers.append(Trigger(is_of_a_new_stream, 0, look_up_slowly))
    world.tell(f"** {driver.name}'s stream breaks")
    driver.streams[-1].break_()
