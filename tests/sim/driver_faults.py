"""Faults of one driver, at one of its next steps: a kill, a pause, a cut, a lost answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark_zkgroup.options.group import MAX_POLL_INTERVAL
from tests.sim.drawing import Of, at_step
from tests.sim.process import Process
from tests.sim.query import Driver

if TYPE_CHECKING:
    from tests.sim.scene import Scene

Fault = Callable[["Scene"], bool]

_ANY = ""
_POINTS = (
    _ANY,
    _ANY,
    "spark planned",
    "spark logged",
    "spark partitions",
    "spark read",
    "spark sunk",
    "spark finished",
    "multi",
    "answer",
    "sync",
    "children",
    "nodes",
    "open",
    "kafka",
)


def any_driver(scene: Scene) -> Driver | None:
    running = [d for d in scene.cast.running if not d.process.access.paused]
    return scene.rng.choice(running) if running else None


def at_any_step(
    scene: Scene,
    driver: Driver,
    act: Callable[[], None],
    name: str,
    points: Sequence[str] = _POINTS,
) -> None:
    at_step(scene, driver.process, points, act, name, gone=lambda: driver.gone)


def each(
    name: str, act: Callable[[Of, Driver], None], points: Sequence[str] = _POINTS
) -> Callable[[Of], bool]:
    def fault(scene: Of) -> bool:
        driver = any_driver(scene)
        if driver is None:
            return False
        at_any_step(scene, driver, lambda: act(scene, driver), name, points)
        return True

    return fault


def at_claim(name: str, act: Callable[[Scene, Driver], None]) -> Fault:
    """Just before the next claims of one member: a member that joins makes some soon."""

    def fault(scene: Scene) -> bool:
        driver = any_driver(scene)
        if driver is None:
            return False

        def told() -> None:
            if not scene.healing and not scene.world.over and not driver.gone:
                scene.world.tell(f"** {name}: {driver.name}")
                act(scene, driver)

        driver.process.at(f"multi Create {scene.paths.owners}", told)
        return True

    return fault


def timeout_s(scene: Scene) -> float:
    return scene.config.session_ms / 1000.0


def kill(scene: Scene, driver: Driver) -> None:
    driver.process.kill()


def kill_planner(scene: Scene, driver: Driver) -> None:
    driver.process.kill(planner_only=True)


def kill_in_replay(scene: Scene, driver: Driver) -> None:
    """Kill the driver now, and its successor at one of the first steps of the replay."""
    driver.process.kill()

    def again() -> None:
        following = driver.query.driver
        if following is driver or following is None or following.gone:
            return
        _at_once(scene, following.process, lambda: following.process.kill(), "killed in its replay")

    for delay in (0.2, 1.0, 3.0):
        scene.world.after(delay, again)


def _at_once(scene: Scene, process: Process, act: Callable[[], None], name: str) -> None:
    if process.triggers or process.driver_dead:
        return

    def told() -> None:
        if not scene.healing:
            scene.world.tell(f"** {name}: {process.name}")
            act()

    process.at(_ANY, told, scene.rng.randrange(0, 12))


def pause(share: float) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        driver.process.pause(timeout_s(scene) * share * (0.5 + scene.rng.random()))

    return act


def expire(scene: Scene, driver: Driver) -> None:
    session = driver.membership.keeper.session
    if session is not None:
        session.expire()  # type: ignore[attr-defined]


def cut(share: float, silent: bool) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        seconds = timeout_s(scene) * share * (0.5 + scene.rng.random())
        driver.process.cut(seconds, silent=silent)

    return act


def cut_kafka(scene: Scene, driver: Driver) -> None:
    driver.process.cut_kafka(scene.rng.choice([1.0, 5.0, 30.0]))


def lose_then_join(scene: Scene, driver: Driver) -> None:
    """A claim is executed and not answered, and what it claimed belongs to another member by the
    next look.
    """
    driver.process.access.lose_next = "executed"
    for _ in range(2):
        if len(scene.cast.queries) < 9:
            scene.new_query(delay=0.01)


def lose(fate: str) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        driver.process.access.lose_next = fate  # type: ignore[assignment]

    return act


def stop(scene: Scene, driver: Driver) -> None:
    driver.stop()


def stop_group(scene: Scene, driver: Driver) -> None:
    driver.stop_group(scene.rng.randrange(0, 6))


def drain(scene: Scene, driver: Driver) -> None:
    """`pyspark_zkgroup.stop(query)`."""
    driver.drain.asked = True

    def look() -> None:
        if driver.gone or scene.world.over:
            return
        if driver.drain.acknowledged:
            scene.world.tell(f"{driver.name} is drained")
            driver.stop()
        else:
            scene.world.after(0.2, look)

    look()


def slow(scene: Scene, driver: Driver) -> None:
    """A batch that takes hours; one at a time, or the scene ends before the second one."""
    if scene.world.lazy:
        return
    driver.query.slow_next_s = scene.rng.choice([30.0, 3600.0, 7200.0])


def overlong(scene: Scene) -> bool:
    """A batch that outlasts max.poll.interval.ms; with or without ZooKeeper when it is over."""
    rng = scene.rng
    watched = [d for d in scene.cast.running if MAX_POLL_INTERVAL.name in d.query.options]
    if not watched or scene.world.lazy:
        return False
    driver = rng.choice(watched)
    limit_s = driver.options.group.max_poll_interval_ms / 1000.0
    cut_s = rng.choice([0.0, 1.5, 1.5, 3.0])

    def act() -> None:
        driver.query.overlong_next_s = limit_s + 0.2 + rng.random() * 2
        if cut_s:
            scene.world.after(limit_s - 1.0, lambda: driver.process.cut(cut_s, silent=False))

    at_any_step(scene, driver, act, "a batch too long", ["spark partitions"])
    return True
