"""A static member that comes back twice, the second time while its first return is being ended.

The registration of either return has been written once, so a deletion by its version alone would
take the second one's for the first one's.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.sim.light.drawn_holder import with_a_holder

if TYPE_CHECKING:
    from tests.sim.light.member import LightDriver
    from tests.sim.light.scene import LightScene
    from tests.sim.query import Driver, Query

_SHARE = 0.1
_BACK_S = 0.2
_ENDS_S_MAX = 30.0
_SLOW_S = 1.0


def is_drawn(seed: int) -> bool:
    """Drawn separately from all else, so that a scene without it is unchanged."""
    return Random(f"{seed} comeback").random() < _SHARE


def draw(scene: LightScene) -> None:
    rng = Random(f"{scene.seed} comebacks")

    def fault(driver: LightDriver) -> None:
        scene.befell("comeback while its life ends")
        begin_with(scene, driver)

    after_s = 1.0 + rng.random() * 12.0
    with_a_holder(scene, rng, after_s, lambda driver: driver.query.static, fault)


def begin_with(scene: LightScene, first: Driver) -> None:
    """It dies with a plan, and its return dies as soon as it has taken over what it holds. The
    second return registers at the moment at which the coordinator, which has just read the
    registration of the first, asks for its deletion.
    """
    _kill(scene, first, "spark logged", lambda one: _return(scene, one))


def _return(scene: LightScene, first: Driver) -> None:
    _kill(scene, first, "spark partitions", lambda second: _register_late(scene, second))


def _kill(scene: LightScene, driver: Driver, step: str, then: Callable[[Driver], None]) -> None:
    def kill() -> None:
        if scene.healing or scene.world.over or driver.gone:
            return
        scene.world.tell(f"** comeback: {driver.name} is killed (at {step})")
        driver.process.kill()
        _back(scene, driver.query, then)

    driver.process.at(step, kill)


def _back(scene: LightScene, query: Query, then: Callable[[Driver], None]) -> None:
    def back() -> None:
        if not scene.cast.runs(query):
            scene.launch(query)
        if query.driver is not None and not query.driver.gone:
            then(query.driver)

    scene.world.after(_BACK_S, back)


def _register_late(scene: LightScene, second: Driver) -> None:
    world, office = scene.world, scene.serving()
    if office is None:
        return
    registration = scene.paths.id(second.membership.member)
    is_ending = False

    def end() -> None:
        nonlocal is_ending
        is_ending = True
        scene.counts["back as its last life ends"] += 1
        ended = scene.server.leader.nodes.get(registration)
        world.wake()
        world.wait(_SLOW_S, lambda: scene.server.leader.nodes.get(registration) != ended)

    def register() -> None:
        world.tell(f"** comeback: {second.name} registers as its last life ends")
        world.wait(_ENDS_S_MAX, lambda: is_ending or scene.healing)

    office.process.at(f"candidate multi Delete {registration}", end)
    second.process.at("register", register)
