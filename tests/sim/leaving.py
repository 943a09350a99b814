"""How a scene ends: all leave cleanly, leave nothing behind, and nothing is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sim.scene import Scene

_LEAVE_S_MAX = 60.0
# Sessions that still own nodes have timed out by then.
_TIMED_OUT_S = 30.0


def leave(scene: Scene) -> None:
    world, cast = scene.world, scene.cast
    cast.stop()
    give_up_at = world.now + _LEAVE_S_MAX
    while not world.over and world.now < give_up_at and not cast.has_left:
        scene.sleep(0.5)
    if cast.running and not world.over:
        world.fail(f"{cast.running[0].name} does not end")
    sessions = [s for s, nodes in scene.server.ephemerals.items() if nodes]
    if not world.over and _registered(scene) and sessions:
        scene.sleep(_TIMED_OUT_S)
        if left := _registered(scene):
            world.fail(f"registrations are left: {left}")
    if not world.over and scene.checkers.owner:
        world.fail(f"owner nodes are left: {sorted(scene.checkers.owner)}")
    if not world.over:
        scene.checkers.copies.check()


def _registered(scene: Scene) -> list[str]:
    return sorted(scene.server.leader.kids.get(scene.paths.ids, ()))
