"""Liveness while records keep coming: a member that is never idle must still notice everything.

After the last fault each driver gets a record for every trigger. What exists by then, and what
comes in partitions that appear now, must be read within a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def backlog_s(scene: Scene, ends: Mapping[TopicPartition, int]) -> float:
    """Return how long a limited query may take for what is unread up to these ends."""
    return scene.row_s * scene.checkers.unread_rows(ends)


def _longest_s(scene: Scene, ends: Mapping[TopicPartition, int]) -> float:
    """Return whether a limited query takes only one record of each partition at a time, as it does
    if enough others have records, too.
    """
    if not any("maxOffsetsPerTrigger" in query.options for query in scene.queries):
        return 0.0
    rows = [scene.checkers.unread_rows({p: end}) for p, end in ends.items()]
    return _TRIGGER_S * max(rows, default=0)


def _other_topics_s(scene: Scene) -> float:
    """Return how long batches may take that were planned right before a topic was recreated."""
    made_at = scene.checkers.made_at
    last = [batch for driver in scene.running for batch in driver.query.batches[-1:]]
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
        for driver in scene.running:
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
    bound_s = scene.load_s_max + max(backlog_s(scene, ends), _longest_s(scene, ends))
    bound_s += _other_topics_s(scene)
    began = world.now
    while not world.over:
        scene.sleep(_LOOK_EVERY_S)
        scene.mend()
        unread = scene.checkers.unread(ends)
        if not unread:
            took_s = int(world.now - began)
            scene.counts[f"read under load within {(took_s // 20 + 1) * 20} s"] += 1
            break
        if world.now - began > bound_s:
            world.fail(f"P9: not read in {bound_s:.0f} s under load: {'; '.join(unread)}")
    loading = False
