"""Faults of the logs of a group, in a share of its scenes without other faults: then it is exact
what is lost.

Members and their tasks speak with the brokers over the wire there: see tests/sim/wired.py.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.ops import Create, Delete
from pyspark_zkgroup.model import TopicPartition
from tests.sim import log_faults

if TYPE_CHECKING:
    from tests.sim.query import Driver
    from tests.sim.scene import Scene

Fault = Callable[["Scene", Random], bool]

_SHARE = 0.08
# Most have joined by then.
_FIRST_S = 16.0
# Each partition has had its holder for so long, and keeps it: a member does not know what was lost
# before its first look.
_SETTLED_S = 4.0
_LOOK_S = 0.5


def is_drawn(seed: int) -> bool:
    return Random(f"{seed} cuts").random() < _SHARE


def options(seed: int, query: str) -> dict[str, str]:
    """Some members of a group read what others do not see yet."""
    rng = Random(f"{seed} {query} isolation")
    isolation = rng.choice(["read_uncommitted", "read_committed", "read_committed"])
    return {"failOnDataLoss": "false", "kafka.isolation.level": isolation}


def draw(scene: Scene) -> None:
    rng = Random(f"{scene.seed} logs")

    def befall(name: str) -> None:
        if not scene.world.over and not scene.healing and FAULTS[name](scene, rng):
            scene.befell(name)

    Holders(scene).look()
    for _ in range(rng.choice([2, 4, 6, 8])):
        name = rng.choice([*FAULTS, "log cut"])
        at_s = _FIRST_S + rng.random() * 12.0
        scene.world.after(at_s, lambda name=name: befall(name))  # type: ignore[misc]


class Holders:
    """Which member holds what, and since when nothing of it has changed."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.known: dict[TopicPartition, Driver] = {}
        self.since = float("inf")
        scene.holders = self

    def look(self) -> None:
        scene = self.scene
        if scene.healing or scene.world.over:
            return
        found = [(p, d) for d in scene.cast.running for p in d.membership.holdings.held]
        is_whole = sorted(p for p, _ in found) == sorted(scene.kafka.logs)
        if (
            not is_whole
            or dict(found) != self.known
            or len(scene.cast.running) < len(scene.cast.queries)
        ):
            self.known, self.since = dict(found), scene.world.now
        scene.world.after(_LOOK_S, self.look)

    @property
    def settled(self) -> dict[TopicPartition, Driver]:
        lasts = self.scene.world.now - self.since > _SETTLED_S
        return self.known if lasts else {}


def cut(scene: Scene, rng: Random) -> bool:
    """An unclean election. What grows in the place of what is gone may be any length."""
    held = scene.holders.settled
    if not held:
        return False
    partition = rng.choice(sorted(held))
    log, end = scene.kafka.logs[partition], scene.kafka.logs[partition].latest
    at = max(0, end - rng.randrange(1, 30))
    if at >= end or scene.checkers.of(partition).cuts or log.former:
        return False
    scene.world.tell(f"** the log of {partition} is cut from {end} to {at}")
    scene.checkers.cut(held[partition], partition, at, end)
    scene.checkers.not_looked_at(partition)
    log.elect(at)
    scene.kafka.produce(partition, rng.choice([0, end - at, rng.randrange(1, 30), 40]))
    return True


def recreate(scene: Scene, rng: Random) -> bool:
    """A topic is deleted and recreated before any member sees that it is gone: then its partitions
    do not move. Its logs are shorter than they were, as long, or longer.
    """
    topic = rng.choice(scene.config.topics)
    partitions = scene.kafka.partitions_of(topic)
    held = scene.holders.settled
    if not held or not partitions or any(scene.checkers.of(p).cuts for p in partitions):
        return False
    scene.world.tell(f"** {topic} is recreated")
    ends = {p: scene.kafka.logs[p].latest for p in partitions}
    for partition in partitions:
        scene.checkers.cut(held[partition], partition, 0, ends[partition])
    scene.kafka.delete_topic(topic)
    scene.kafka.make_topic(topic, len(partitions))
    scene.checkers.made_at[topic] = scene.world.now
    for partition, end in ends.items():
        scene.kafka.produce(partition, int(end * rng.choice([0.0, 0.5, 1.0, 1.0, 1.5, 3.0])))
    path, node = f"/brokers/topics/{topic}", scene.kafka.topic_node(topic)
    scene.server.write(Delete(path, -1), Create(path, node))
    return True


def former_leaders(scene: Scene, rng: Random) -> bool:
    """They are cut off from the controller, and not from their clients: they answer as before, some
    of them permanently.
    """
    logs = [p for p in sorted(scene.kafka.logs) if scene.kafka.logs[p].former is None]
    if not logs:
        return False
    picked = rng.sample(logs, min(len(logs), rng.choice([1, 4, 8])))
    seconds = rng.choice([5.0, 40.0, 1e6])
    for partition in picked:
        scene.kafka.leave_behind(partition)
        scene.kafka.produce(partition, rng.randrange(0, 20))

        def heard(partition: TopicPartition = partition) -> None:
            if partition in scene.kafka.logs:
                scene.kafka.logs[partition].former = None

        scene.world.after(seconds, heard)
    scene.world.tell(f"** former leaders still answer: {', '.join(map(str, picked))}")
    return True


def transaction(scene: Scene, rng: Random) -> bool:
    """It stays open while others write behind it, and leaves a marker."""
    logs = [p for p in sorted(scene.kafka.logs) if scene.kafka.logs[p].open_from is None]
    if not logs:
        return False
    picked = rng.sample(logs, min(len(logs), rng.choice([1, 4])))
    scene.world.tell(f"** transactions begin: {', '.join(map(str, picked))}")
    for partition in picked:
        scene.kafka.logs[partition].begin_transaction()
        scene.kafka.produce(partition, rng.randrange(0, 10))

        def end(partition: TopicPartition = partition) -> None:
            if partition in scene.kafka.logs:
                scene.kafka.logs[partition].end_transaction()

        scene.world.after(rng.choice([0.3, 4.0, 15.0]), end)
    return True


FAULTS: dict[str, Fault] = {
    "log cut": cut,
    "topic recreated, of any length": recreate,
    "former leaders answer": former_leaders,
    "transactions": transaction,
    "leaders move at once": log_faults.elect,
}
