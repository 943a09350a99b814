"""Faults of streams, and of the coordinator that serves them, in addition to those of any
coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.sim import drawing
from tests.sim.coordinated import coordinator_faults
from tests.sim.drawing import at_step
from tests.sim.driver_faults import timeout_s
from tests.sim.light.member import LightDriver

if TYPE_CHECKING:
    from tests.sim.light.office import LightCandidate
    from tests.sim.light.scene import LightScene

Fault = Callable[["LightScene"], bool]

_MEMBER = ("", "multi", "multi", "nodes", "answer", "register", "leave", "sync", "open")
_SERVING = (
    *("candidate nodes", "candidate multi", "candidate multi Create /consumers/groups/g/ids"),
    *("candidate multi Delete /consumers/g/owners", "candidate multi Create /consumers/g/owners"),
    *("candidate multi Delete /consumers/groups/g/ids", "candidate multi SetData"),
)


def draw(scene: LightScene) -> None:
    drawing.draw(scene, OURS, (1, 2, 3, 4, 6))


def _each_member(name: str, act: Callable[[LightScene, LightDriver], None]) -> Fault:
    def fault(scene: LightScene) -> bool:
        awake = [d for d in scene.cast.running if isinstance(d, LightDriver)]
        awake = [d for d in awake if not d.process.access.paused]
        if not awake:
            return False
        driver = scene.rng.choice(awake)
        at_step(scene, driver.process, _MEMBER, lambda: act(scene, driver), name)
        return True

    return fault


def _serving(name: str, act: Callable[[LightScene, LightCandidate], None]) -> Fault:
    """While a request of a member is served."""

    def fault(scene: LightScene) -> bool:
        office = scene.serving()
        if office is None or office.process.access.paused:
            return False
        at_step(scene, office.process, _SERVING, lambda: act(scene, office), name)
        return True

    return fault


def _break(_scene: LightScene, driver: LightDriver) -> None:
    if driver.streams:
        driver.streams[-1].break_()


def _break_all(scene: LightScene, office: LightCandidate) -> None:
    for driver in scene.cast.running:
        if isinstance(driver, LightDriver):
            for stream in driver.streams:
                if stream.served is office.served:
                    stream.break_()


def _keep(scene: LightScene, driver: LightDriver) -> None:
    """Nothing gets through in either direction for a time; then all of it, late."""
    timeout = driver.options.protocol.light.session_timeout_ms / 1000.0
    driver.process.cut(timeout * scene.rng.choice([0.2, 0.4, 0.7, 1.2, 2.5]), silent=True)


def _kill(_scene: LightScene, office: LightCandidate) -> None:
    office.process.kill()


def _pause(scene: LightScene, office: LightCandidate) -> None:
    office.process.pause(timeout_s(scene) * scene.rng.choice([0.3, 0.8, 1.5, 3.0]))


def _cut_from_zookeeper(silent: bool) -> Callable[[LightScene, LightCandidate], None]:
    def act(scene: LightScene, office: LightCandidate) -> None:
        """Its members still reach it."""
        office.access.set_way("silent" if silent else "refused")
        seconds = timeout_s(scene) * scene.rng.choice([0.3, 1.0, 2.5])
        scene.world.after(seconds, lambda: office.access.set_way(office.process.access.way))

    return act


def _lose(fate: str) -> Callable[[LightScene, LightCandidate], None]:
    def act(_scene: LightScene, office: LightCandidate) -> None:
        office.access.lose_next = fate  # type: ignore[assignment]

    return act


def all_offices(scene: LightScene) -> bool:
    """No coordinator answers; members continue as long as they may."""
    if not scene.lone:
        return False
    scene.world.tell("** kill -9 of all coordinators")
    for office in list(scene.lone):
        office.process.kill()
    return True


OURS: dict[str, tuple[int, Fault]] = {
    "stream broken": (8, _each_member("stream broken", _break)),
    "stream silent": (6, _each_member("stream silent", _keep)),
    "all streams broken": (3, _serving("all streams broken", _break_all)),
    "coordinator killed while it serves": (8, _serving("kill -9 of who serves", _kill)),
    "coordinator paused while it serves": (6, _serving("pause of who serves", _pause)),
    "coordinator cut off from ZooKeeper": (
        *(5, _serving("cut to ZooKeeper of who serves", _cut_from_zookeeper(False))),
    ),
    "silence of ZooKeeper to the coordinator": (
        *(5, _serving("silence of ZooKeeper to who serves", _cut_from_zookeeper(True))),
    ),
    "request served, executed, not answered": (5, _serving("lost answer", _lose("executed"))),
    "request served, lost": (4, _serving("lost request", _lose("dropped"))),
    "all coordinators killed": (2, all_offices),
}
FAULTS = {**coordinator_faults.FAULTS, **OURS}
