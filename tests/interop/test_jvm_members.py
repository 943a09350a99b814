"""JVM members of old Kafkas and ours in one group: every way to join and leave, in any order.

Kafka's own tools of 1.1.1 judge the group after each change, the count of all records at the end.
"""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.interop.conftest import NewScene
from tests.interop.scene import Scene, Setup, is_of

pytestmark = pytest.mark.interop


def setups(*every_day: Setup) -> list[object]:
    """All of them; those not named are too long for every day."""
    every = [
        Setup(version, strategy, pattern)
        for version in ("0.8.2.2", "0.10.2.2", "1.1.1")
        for strategy in ("range", "roundrobin")
        for pattern in ("static", "white_list")
    ]
    return [
        pytest.param(s, id=str(s), marks=() if s in every_day else pytest.mark.long) for s in every
    ]


@pytest.mark.parametrize(
    "setup", setups(Setup("0.8.2.2", "roundrobin"), Setup("1.1.1", "range", "white_list"))
)
def test_a_jvm_member_comes_last_leaves_and_dies(new_scene: NewScene, setup: Setup) -> None:
    scene = new_scene(setup)
    scene.produce()
    ours = scene.join()
    scene.settle("we come first")
    kept = scene.lives()

    jvm = scene.join_jvm()
    owners = scene.settle("the JVM member comes last")
    assert_kept(scene, ours.membership.member, kept)

    lives = scene.lives()
    scene.end_jvm(jvm)
    scene.settle("the JVM member leaves")
    assert {p: lives[p] for p in owners if is_of(owners[p], ours.membership.member)}.items() <= (
        scene.lives().items()
    ), "what was ours already was released"

    jvm = scene.join_jvm()
    scene.settle("the JVM member comes back")
    scene.kill_jvm(jvm)
    scene.settle("the JVM member dies")
    scene.finish()


@pytest.mark.parametrize(
    "setup", setups(Setup("0.8.2.2", "range", "white_list"), Setup("1.1.1", "roundrobin"))
)
def test_a_jvm_member_comes_first_and_we_leave_and_die(new_scene: NewScene, setup: Setup) -> None:
    scene = new_scene(setup)
    scene.produce()
    scene.join_jvm()
    scene.settle("the JVM member comes first")

    ours = scene.join()
    scene.settle("we come last")
    scene.leave(ours)
    scene.settle("we leave")

    ours = scene.join(ours.checkpoint)
    scene.settle("we come back")
    scene.crash_in_batch(ours, "sunk")
    scene.settle("we die")
    scene.join(ours.checkpoint)
    scene.settle("we come back, with a batch that was not finished")
    scene.finish()


def assert_kept(scene: Scene, consumer: str, lives: dict[TopicPartition, int]) -> None:
    """What stayed with us was never released in between."""
    now = scene.lives()
    for partition, text in scene.owners().items():
        if is_of(text, consumer):
            assert now[partition] == lives[partition], f"{partition} was released and claimed again"
