"""ZooKeeper's data rolled back: its operators have restored a snapshot of some seconds before.

Offsets, owners and registrations are those of then; all sessions are over. Drawn separately from
everything else, in a share of the scenes.

What is promised: nothing is lost, and what comes twice lies between the offset of the snapshot and
the newest one.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from pyspark_zkgroup.zk.port import Node
from tests.fakes.session import FakeSession

if TYPE_CHECKING:
    from tests.sim.scene import Scene

_SHARE = 0.08
_ROOT = "/consumers"
FAULT = "ZooKeeper rolled back"


def draw(scene: Scene) -> None:
    rng = Random(f"{scene.seed} rollback")
    if rng.random() >= _SHARE:
        return
    at_s = 4.0 + rng.random() * 15.0
    with_dead = rng.random() < 0.5

    def keep() -> None:
        if scene.world.over or scene.healing:
            return
        nodes = scene.server.snapshot(_ROOT)
        scene.world.after(rng.choice([0.5, 3.0, 8.0]), lambda: restore(scene, nodes, with_dead))

    scene.world.after(at_s, keep)


def offsets_of(scene: Scene, nodes: dict[str, Node]) -> set[str]:
    return {p for p in nodes if p.startswith(f"{scene.paths.offsets}/")}


def restore(scene: Scene, nodes: dict[str, Node], with_dead: bool) -> None:
    """`with_dead`: nodes of the sessions of then stay until those time out. Not where offset nodes
    were made or deleted meanwhile: which topics there are is another fault's story.
    """
    server = scene.server
    sessions = [session for session in scene.sessions() if isinstance(session, FakeSession)]
    if scene.world.over or scene.healing or not server.up:
        return
    if offsets_of(scene, nodes) != offsets_of(scene, server.snapshot(_ROOT)):
        return
    if scene.checkers.allowed_faults - {"leader"}:
        return  # what another process has set, or deleted, meanwhile
    scene.checkers.allowed_faults.add("rolled back")
    scene.world.tell("** ZooKeeper's data is rolled back")
    for session in sessions:
        session.expire()
    for number in list(server.ephemerals):
        server.end_session(number)
    dead = {n.ephemeral_owner for n in nodes.values() if n.ephemeral_owner}
    kept = {p: n for p, n in nodes.items() if with_dead or not n.ephemeral_owner}
    scene.checkers.rolling_back = True
    server.restore(_ROOT, kept)
    scene.checkers.rolling_back = False
    timeout_s = scene.config.session_ms / 1000.0
    for number in dead if with_dead else ():
        scene.world.after(timeout_s, lambda number=number: server.end_session(number))  # type: ignore[misc]
    scene.befell(FAULT)
