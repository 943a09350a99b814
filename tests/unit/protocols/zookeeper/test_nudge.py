"""When JVM members that gave up are woken, and which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.ops import Create, Delete
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.zookeeper.nudge import Nudge

T0, T1, T2 = (TopicPartition("t", n) for n in range(3))
TARGET = {T0: ThreadId("g_jvm", 0), T1: ThreadId("g_ours", 0)}
SUBSCRIPTION = Subscription.static({"t": 1})
MEMBERS = {
    "g_jvm": Registration(SUBSCRIPTION, "1"),
    "g_ours": Registration(SUBSCRIPTION, "1", strategy="range"),
}


def nudged(nudge: Nudge, now: float) -> list[Any]:
    sent: list[Any] = []
    context = SimpleNamespace(
        paths=GroupPaths("g"), consumer="g_ours", store=SimpleNamespace(commit=sent.extend)
    )
    nudge.run(cast(Any, context), now, {"g_jvm"})
    return sent


def test_only_registered_jvm_members_are_woken() -> None:
    assert MEMBERS["g_ours"].is_zkgroup
    assert not MEMBERS["g_jvm"].is_zkgroup
    assert Nudge().due(5.0, [T0, T1, T2], TARGET, MEMBERS) == {"g_jvm"}
    assert Nudge().due(5.0, [T1, T2], TARGET, MEMBERS) == set()
    assert Nudge().due(5.0, [T0], TARGET, {}) == set()
    assert Nudge().due(5.0, [], TARGET, MEMBERS) == set()


def test_a_nudge_is_a_node_that_no_member_sees(caplog: pytest.LogCaptureFixture) -> None:
    node = "/consumers/g/ids/g_ours-nudge"
    create = Create(node, b"", ephemeral=True, world_open=True)
    assert nudged(Nudge(), 5.0) == [(create, Delete(node, 0))]
    assert "ZKG-120" in caplog.text
    assert "Woke g_jvm, " in caplog.text
    assert "Trying again in 10 s" in caplog.text


def test_the_pause_doubles_to_ten_minutes_and_is_short_again_when_all_is_read() -> None:
    nudge, now, pauses = Nudge(), 100.0, []
    for _ in range(8):
        nudged(nudge, now)
        began = now
        while not nudge.due(now, [T0], TARGET, MEMBERS):
            now += 5.0
        pauses.append(now - began)
    assert pauses == [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0]

    assert nudge.due(now, [], TARGET, MEMBERS) == set()
    nudged(nudge, now)
    assert nudge.due(now + 9.0, [T0], TARGET, MEMBERS) == set()
    assert nudge.due(now + 10.0, [T0], TARGET, MEMBERS) == {"g_jvm"}
