"""Between a commit and a release there is time for a JVM member that has read the older offset.

It claims what it can get without looking at the offset again, and would read our last batch once
more. Only its registration is written here, by hand: the test is about the time of our release.
"""

from __future__ import annotations

import json
import time

import pytest

from tests.harness.group import group_of
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

pytestmark = pytest.mark.interop

# What a JVM takes from the one to the other is some tens of milliseconds, more when it is cold.
SLOW_S = 0.9


def test_a_jvm_member_gets_no_partition_that_was_committed_just_before(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        query = group.query(topic, threads="1")
        group.produce(topic, 5)
        query.until(10)
        group.produce(topic, 5)
        query.until(20)
        assert group.offsets(topic) == {0: b"5", 1: b"5"}, "the last batch is not yet committed"

        released: list[float] = []
        owner = f"/consumers/{group.name}/owners/{topic}/1"
        group.client.exists(owner, watch=lambda event: released.append(time.time()))
        registration = {
            "version": 1,
            "subscription": {topic: 1},
            "pattern": "static",
            "timestamp": "1",
        }
        # Behind ours in the order of ids: the second partition becomes its own.
        group.client.create(
            f"/consumers/{group.name}/ids/{group.name}_zz",
            json.dumps(registration).encode(),
            ephemeral=True,
        )
        wait_until(lambda: query.trigger() == 0 and released, 10, "the release", interval_s=0)
        offset, node = group.client.get(group.offset_path(topic, 1))
        assert offset == b"10"
        assert released[0] - node.mtime / 1000 > SLOW_S
