"""Faults of the brokers and their logs, in a share of the scenes of every protocol.

They are drawn separately from everything else: a scene without such a fault is the one it would be
if there were none.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tests.fakes.kafka import BROKERS
from tests.sim.outer_faults import tell_zookeeper

if TYPE_CHECKING:
    from tests.sim.scene import Scene

LogFault = Callable[["Scene", Random], bool]

_SHARE = 0.35


def draw(scene: Scene) -> None:
    rng = Random(f"{scene.seed} logs")
    if rng.random() >= _SHARE:
        return

    def befall(name: str) -> None:
        if not scene.world.over and not scene.healing and FAULTS[name](scene, rng):
            scene.befell(name)

    for _ in range(rng.choice([1, 2, 3])):
        name = rng.choice(list(FAULTS))
        scene.world.after(0.5 + rng.random() * 25.0, lambda name=name: befall(name))  # type: ignore[misc]


def elect(scene: Scene, rng: Random) -> bool:
    """Leaders move, and nothing is lost."""
    logs = rng.sample(sorted(scene.kafka.logs), min(4, len(scene.kafka.logs)))
    for partition in logs:
        scene.kafka.logs[partition].elect()
    scene.world.tell(f"** new leaders: {', '.join(map(str, logs))}")
    return True


def grow_behind(scene: Scene, rng: Random) -> bool:
    """A topic grows; members have begun to read the new partitions when brokers answer once more as
    if there were none: one for a while, or two for less than members doubt them.
    """
    kafka = scene.kafka
    topic = rng.choice(scene.config.topics)
    old = kafka.partitions_of(topic)
    if not old or len(kafka.logs) > 30 or kafka.lagging:
        return False
    behind = rng.choice([1, 2])
    brokers = {broker: kafka.topics(broker) for broker in rng.sample(BROKERS, behind)}
    kafka.grow(topic, len(old) + rng.choice([1, 2]))
    new = [p for p in kafka.partitions_of(topic) if p not in old]
    scene.world.tell(f"** {topic} grows to {len(old) + len(new)} partitions")
    tell_zookeeper(scene, topic)

    def lag() -> None:
        if scene.world.over or scene.healing or not set(new) <= kafka.logs.keys():
            return
        if kafka.lagging:
            return  # two growths would let two brokers lag for longer than members doubt them
        scene.world.tell(f"** brokers {sorted(brokers)} answer as before {topic} grew")
        kafka.lagging |= brokers
        for partition in new:
            kafka.produce(partition, rng.randrange(50, 300))
        scene.world.after(rng.choice([8.0, 20.0]) if behind == 1 else 4.0, kafka.lagging.clear)

    scene.world.after(rng.choice([4.0, 8.0]), lag)
    return True


FAULTS: dict[str, LogFault] = {
    "topic growth behind a broker": grow_behind,
    "leaders move": elect,
}
