"""A planner that is suspended for far longer than its session lives, and then continues."""

from __future__ import annotations

import signal
import time

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.spark.processes import send
from tests.spark.scene import Scene
from tests.spark.test_faults import PARTITIONS, PER_SECOND, finish, two_members
from tests.spark.trail import State, Trail

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

SESSION_S = 4.0


def test_a_planner_stopped_for_three_sessions_in_mid_batch_touches_nothing_it_has_lost(
    scene: Scene,
) -> None:
    """It commits nothing of the batch, deletes nothing of its successor's, and joins again."""
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic)
    zombie = a.consumer
    with Trail(scene.connect, scene.group, topic, PARTITIONS).followed() as trail:
        number = a.hold(a.job.hold_tasks)
        batch, lost = a.records_of(number), a.planned()[number].by_partition
        planner, stopped = a.on.planner, time.time()
        send([planner], signal.SIGSTOP)
        scene.wait_shares(topic, {"b": PARTITIONS}, "b to take over")
        print(f"b owned everything {time.time() - stopped:.1f} s after the stop")
        scene.wait_passed(stopped + 3 * SESSION_S - time.time())
        goes_on = time.time()
        send([planner], signal.SIGCONT)
        a.go_on()
        scene.wait_shares(topic, {"a": 4, "b": 4}, "a to be back")
        print(f"a was back {time.time() - goes_on:.1f} s after it went on")
    assert a.on.planner == planner
    assert a.consumer == zombie
    ends = {
        p: {
            plan.by_partition[p].range.until
            for plan in b.planned().values()
            if p in plan.by_partition
        }
        for p in lost
    }
    for partition, states in trail.since(goes_on).items():
        check_ownership(states, zombie, b.consumer)
        if partition in lost:
            check_offsets(partition, states, b.consumer, ends[partition])
    assert any("has ended with 4 partitions held" in line for line in a.on.warnings())
    finish(scene, topic, batch, a, b)


def check_ownership(states: list[State], zombie: str, successor: str) -> None:
    """From the successor's node to the end: it exists, or the successor itself has released it for
    the zombie's new claim. (The successor may write its own thread number in it again.)
    """
    first = states[0].owner
    assert first is not None
    assert first.text.startswith(successor)
    nodes = [state.owner for state in states if state.owner is not None]
    kept = [node for node in nodes if (node.made, node.session) == (first.made, first.session)]
    assert all(node.text.startswith(successor) for node in kept)
    others = nodes[len(kept) :]
    assert kept == nodes[: len(kept)]
    assert len({(node.made, node.session) for node in others}) <= 1, others
    assert all(node.text.startswith(zombie) and node.made > first.made for node in others)


def check_offsets(
    partition: TopicPartition, states: list[State], successor: str, ends: set[int]
) -> None:
    """While the successor owns it, only ends of its plans are committed, upwards."""
    seen = [
        (int(state.offset.text), state.offset.made)
        for state in states
        if state.offset is not None
        and state.owner is not None
        and state.owner.text.startswith(successor)
    ]
    values = [value for value, _ in seen]
    assert values == sorted(values), f"{partition} went back: {values}"
    assert set(values[1:]) <= ends, f"{partition}: {values}, and the successor read to {ends}"
    assert len({made for _, made in seen}) == 1, f"the offset node of {partition} was recreated"
