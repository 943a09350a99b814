"""What a member reports of the others in its group."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.protocols.zookeeper.other_members import OtherMembers

TOPICS = Subscription.static({"t": 1})


def test_members_that_assign_differently_are_named_when_they_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    own, other = (Registration(TOPICS, "5", strategy=name) for name in ("range", "roundrobin"))
    alone = Snapshot({"g_a": own}, {"t": (0,)})
    with_one = Snapshot({**alone.members, "g_b": other}, alone.topics)
    with_two = Snapshot({**with_one.members, "g_c": other}, alone.topics)
    others = OtherMembers(own, cast(Any, None))
    looks = [alone, with_one, with_one, with_two, alone, with_one]
    for before, snapshot in itertools.pairwise(looks):
        others.compare("g_a", before, snapshot)
    named = [[name for name in ("g_b", "g_c") if name in line] for line in caplog.messages]
    assert named == [["g_b"], ["g_b", "g_c"], ["g_b"]]
