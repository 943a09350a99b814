"""A member's stream breaks while its coordinator still looks the member up, and the member's next
stream is accepted before that look is answered.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.sim.light.drawn_holder import with_a_holder
from tests.sim.process import Trigger

if TYPE_CHECKING:
    from tests.sim.light.member import LightDriver
    from tests.sim.light.scene import LightScene

_SHARE = 0.1
_SLOW_S = 2.0


def is_drawn(seed: int) -> bool:
    """Drawn separately from all else, so that a scene without it is unchanged."""
    return Random(f"{seed} crossed hellos").random() < _SHARE


def draw(scene: LightScene) -> None:
    rng = Random(f"{scene.seed} crossed hellos of")

    def fits(driver: LightDriver) -> bool:
        return bool(driver.streams) and scene.serving() is not None

    def fault(driver: LightDriver) -> None:
        scene.befell("hellos cross")
        begin_with(scene, driver)

    with_a_holder(scene, rng, 2.0 + rng.random() * 15.0, fits, fault)


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
