"""Members of several old versions in one group with ours, registered in every existing form."""

from __future__ import annotations

import pytest

from tests.interop.conftest import NewScene
from tests.interop.scene import Setup

pytestmark = [pytest.mark.interop, pytest.mark.long]


def test_no_registration_of_ours_troubles_a_jvm_member(new_scene: NewScene) -> None:
    """One that a JVM cannot read would make it fail each rebalance and own nothing."""
    scene = new_scene(Setup("1.1.1"))
    scene.produce()
    jvms = [scene.join_jvm(version) for version in ("0.8.2.2", "0.10.2.2", "1.1.1")]
    scene.settle("JVM members of three versions")

    static = scene.join(member_id="night-shift")
    scene.settle("one of ours with a member.id")
    # A backslash and an accent: JSON has several ways to write both.
    white = scene.join(pattern=rf"{scene.group.name}-\w|größe")
    scene.settle("one of ours with a white list")
    scene.join(excludePattern=f"(?!{scene.group.name}-).*")
    scene.settle("one of ours with a black list")

    scene.kill_jvm(jvms[0])
    scene.settle("the JVM member of 0.8.2.2 dies")
    scene.leave(white)
    scene.settle("the one with the white list leaves")
    scene.crash_in_batch(static, "read")
    scene.join(static.checkpoint, member_id="night-shift")
    scene.settle("the one with the member.id dies in mid-batch and is back at once")
    scene.end_jvm(jvms[1])
    scene.end_jvm(jvms[2])
    scene.settle("all JVM members are gone")
    scene.finish()


@pytest.mark.parametrize("version", ["0.8.2.2", "1.1.1"])
def test_two_of_each_come_and_go_under_round_robin(new_scene: NewScene, version: str) -> None:
    scene = new_scene(Setup(version, "roundrobin"))
    scene.produce()
    first, jvm = scene.join(), scene.join_jvm()
    scene.settle("one of each")
    second, other = scene.join(), scene.join_jvm()
    scene.settle("two of each")
    scene.leave(first)
    scene.end_jvm(jvm)
    scene.settle("one of each has left, both in the same moment")
    scene.crash_in_batch(second, "logged")
    scene.kill_jvm(other)
    scene.join_jvm()
    scene.join(second.checkpoint)
    scene.settle("both others have died, both are replaced")
    scene.finish()
