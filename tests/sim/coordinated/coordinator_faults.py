"""Faults of the coordinator, at any of its steps, and of what it has left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.ops import Create, Delete, Op
from pyspark_zkgroup.group.paths import COORDINATOR
from tests.sim import drawing
from tests.sim.coordinated.office import Office
from tests.sim.drawing import at_step
from tests.sim.driver_faults import timeout_s

if TYPE_CHECKING:
    from tests.sim.coordinated.scene import CoordinatedScene

Fault = Callable[["CoordinatedScene"], bool]

_POINTS = (
    "candidate ",
    "candidate ",
    "candidate stats",
    "candidate children",
    "candidate children /consumers/groups",
    "candidate nodes",
    "candidate multi",
    "candidate multi Create /consumers/coordinator",
    "candidate multi Create /consumers/groups",
    "candidate multi Delete /consumers/groups",
    "candidate answer",
)
_SKIPS = (0, 0, 1, 2, 4, 8, 16)


def draw(scene: CoordinatedScene) -> None:
    drawing.draw(scene, FAULTS, (1, 2, 3, 4, 6))


def _each(name: str, act: Callable[[CoordinatedScene, Office], None]) -> Fault:
    """A fault of the coordinator in office; now and then something makes it work just then."""

    def fault(scene: CoordinatedScene) -> bool:
        office = scene.coordinator()
        if office is None or office.process.access.paused:
            return False
        at_step(scene, office.process, _POINTS, lambda: act(scene, office), name, skips=_SKIPS)
        if scene.rng.random() < 0.5 and len(scene.cast.queries) < 9:
            scene.new_query(delay=0.01)
        return True

    return fault


def _kill(scene: CoordinatedScene, office: Office) -> None:
    office.process.kill()


def _kill_again(scene: CoordinatedScene, office: Office) -> None:
    """Its successor as well, at one of its first steps in office."""
    office.process.kill()

    def look() -> None:
        following = scene.coordinator()
        if scene.healing or scene.world.over or following is office:
            return
        if following is None:
            scene.world.after(0.2, look)
            return
        skip = scene.rng.randrange(0, 20)
        process = following.process

        def told() -> None:
            if not scene.healing and not scene.world.over:
                scene.world.tell(f"** killed soon after its election: {process.name}")
                process.kill()

        process.at("candidate", told, skip)

    scene.world.after(0.2, look)


def _pause(scene: CoordinatedScene, office: Office) -> None:
    """It wakes up and believes that it is coordinator, at the same time as another."""
    office.process.pause(timeout_s(scene) * scene.rng.choice([0.5, 1.5, 3.0]))


def _expire(scene: CoordinatedScene, office: Office) -> None:
    office.expire()


def _cut(silent: bool) -> Callable[[CoordinatedScene, Office], None]:
    def act(scene: CoordinatedScene, office: Office) -> None:
        seconds = timeout_s(scene) * scene.rng.choice([0.3, 1.0, 2.0])
        office.process.cut(seconds, silent=silent)

    return act


def _lose(fate: str) -> Callable[[CoordinatedScene, Office], None]:
    def act(scene: CoordinatedScene, office: Office) -> None:
        office.access.lose_next = fate  # type: ignore[assignment]

    return act


def deposed(scene: CoordinatedScene) -> bool:
    """An operator deletes the node of the election: for a moment there are two."""
    if COORDINATOR not in scene.server.leader.nodes:
        return False
    scene.world.tell("** an operator deletes the coordinator's node")
    scene.server.write(Delete(COORDINATOR, -1))
    return True


def old_command(scene: CoordinatedScene) -> bool:
    """An old command is in the channel once more, as a dead coordinator leaves it."""
    told = scene.commands.told
    if not told:
        return False
    consumer, data = scene.rng.choice(told[-30:])
    return _write(scene, Create(scene.coordinated.command(consumer), data, sequential=True))


def garbage(scene: CoordinatedScene) -> bool:
    """In a channel, or among the answers."""
    kids = scene.server.leader.kids
    channels = sorted(kids.get(scene.coordinated.channels, ()))
    if not channels:
        return False
    consumer = scene.rng.choice(channels)
    data = scene.rng.choice([b"", b"{", b'{"version":9,"command":"stop"}', b"\xff"])
    if scene.rng.random() < 0.5:
        return _write(scene, Create(scene.coordinated.command(consumer), data, sequential=True))
    return _write(scene, Create(scene.coordinated.answer(consumer, "x"), data))


def _write(scene: CoordinatedScene, create: Op) -> bool:
    scene.world.tell(f"** an operator writes {create.path}")
    return not any(isinstance(r, int) for r in scene.server.multi(0, [create]))


def stranger(scene: CoordinatedScene) -> bool:
    """A JVM member of the same group, which decides for itself."""
    if len(scene.cast.jvms) >= 1:
        return False
    scene.world.tell("** a member that decides for itself joins")
    scene.new_jvm()
    return True


FAULTS: dict[str, tuple[int, Fault]] = {
    "coordinator killed": (10, _each("kill -9 of the coordinator", _kill)),
    "coordinator killed, and the next": (5, _each("kill -9 of the coordinator", _kill_again)),
    "coordinator paused": (6, _each("pause of the coordinator", _pause)),
    "coordinator's session expires": (6, _each("expiry of the coordinator", _expire)),
    "coordinator cut off": (3, _each("cut to the coordinator", _cut(False))),
    "coordinator in silence": (3, _each("silence to the coordinator", _cut(True))),
    "coordinator's request executed, not answered": (5, _each("lost answer", _lose("executed"))),
    "coordinator's request lost": (4, _each("lost request", _lose("dropped"))),
    "coordinator's node deleted": (3, deposed),
    "old command": (8, old_command),
    "garbage": (2, garbage),
    "stranger": (1, stranger),
}
