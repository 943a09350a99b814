"""Liveness: everything is read within a bound, while records keep coming and when none come.

A member that is never idle must still notice everything: after the last fault each driver gets a
record for every trigger. What exists by then, and what comes in partitions that appear now, must be
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from pyspark_zkgroup.model import TopicPartition
from tests.sim import outer_faults

if TYPE_CHECKING:
    from tests.sim.scene import Scene

_RECORD_EVERY_S = 0.8
_LOOK_EVERY_S = 2.0
# A task waits so long before it takes a topic for another one. In these tests one task follows
# another.
_ANOTHER_TOPIC_S = 32.0
# For one batch of a member that reads all the time, with its own looks and a slow coordinator's.
_TRIGGER_S = 2.0


@dataclass(frozen=True)
class Bounds:
    """How long a group may take to read everything, and `row_s` more for each unread record."""

    # A query may be limited to five records for each trigger of about a second.
    row_s: float = 0.4
    rest_s: float = 300.0
    load_s: float = 100.0


def _backlog_s(scene: Scene, ends: Mapping[TopicPartition, int]) -> float:
    """Return how long a limited query may take for what is to be read up to these ends."""
    return scene.bounds.row_s * scene.checkers.rows_left(ends)


def _longest_s(scene: Scene, ends: Mapping[TopicPartition, int]) -> float:
    """Return whether a limited query takes only one record of each partition at a time, as it does
    if enough others have records, too.
    """
    if not any("maxOffsetsPerTrigger" in query.options for query in scene.cast.queries):
        return 0.0
    rows = [scene.checkers.rows_left({p: end}) for p, end in ends.items()]
    return _TRIGGER_S * max(rows, default=0)


def _other_topics_s(scene: Scene) -> float:
    """Return how long batches may take that were planned right before a topic was recreated."""
    made_at = scene.checkers.made_at
    last = [batch for driver in scene.cast.running for batch in driver.query.batches[-1:]]
    waits = [
        sum(len(r.range) > 0 for p, r in batch.ranges.items() if p.topic in made_at)
        for batch in last
        if not batch.finished
    ]
    return _ANOTHER_TOPIC_S * max(waits, default=0)


def read_under_load(scene: Scene) -> None:
    world, rng = scene.world, Random(f"{scene.seed} load")
    world.tell("-- records keep coming")
    loading = True

    def produce() -> None:
        if not loading or world.over:
            return
        for driver in scene.cast.running:
            held = sorted(set(driver.membership.holdings.held) & scene.kafka.logs.keys())
            if held:
                scene.kafka.produce(rng.choice(held), 1)
        world.after(_RECORD_EVERY_S, produce)

    produce()
    before = set(scene.kafka.logs)
    if not scene.cuts:  # partitions do not move there
        outer_faults.grow(scene)
    for partition in sorted(scene.kafka.logs.keys() - before):
        scene.kafka.produce(partition, 3)
    ends = {p: log.latest for p, log in scene.kafka.logs.items()}
    bound_s = scene.bounds.load_s + max(_backlog_s(scene, ends), _longest_s(scene, ends))
    bound_s += _other_topics_s(scene)
    began = world.now
    while not world.over:
        scene.sleep(_LOOK_EVERY_S)
        _mend(scene)
        unread = scene.checkers.unread(ends)
        if not unread:
            took_s = int(world.now - began)
            scene.counts[f"read under load within {(took_s // 20 + 1) * 20} s"] += 1
            break
        if world.now - began > bound_s:
            world.fail(f"P9: not read in {bound_s:.0f} s under load: {'; '.join(unread)}")
    loading = False


def read_all(scene: Scene) -> None:
    """Nothing is produced any more."""
    world, checkers = scene.world, scene.checkers
    ends = {p: log.latest for p, log in scene.kafka.logs.items()}
    give_up_at = world.now + scene.bounds.rest_s + _backlog_s(scene, ends)
    look_again_s = 1.0
    while not world.over:
        scene.sleep(look_again_s)
        look_again_s = min(30.0, look_again_s * 1.2)
        _mend(scene)
        if not checkers.unread() and not checkers.uncommitted():
            break
        if world.now > give_up_at:
            for driver in scene.cast.running:
                world.tell(f"{driver.name}: {driver.membership.status()}")
            left = checkers.unread() or checkers.uncommitted()
            world.fail(f"P1: never read or committed: {'; '.join(left)}")
    world.tell("-- all is read")
    if checkers.cuts_owed:
        world.fail(f"P1: losses that no member reported: {sorted(checkers.cuts_owed)}")


def _mend(scene: Scene) -> None:
    """Not while a member has yet to report that a log was cut."""
    cut = {partition for _, partition, _, _ in scene.checkers.cuts_owed}
    scene.operator.mend({p: log for p, log in scene.kafka.logs.items() if p not in cut})
