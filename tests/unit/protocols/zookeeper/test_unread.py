"""When a partition without a reader is named, and whom its line suspects."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.zookeeper.unread import UnreadPartitions
from tests.fakes.still_clock import StillClock

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
TARGET = {P0: ThreadId("a", 0), P1: ThreadId("b", 0)}
SUBSCRIPTION = Subscription("static", (("t", 1),))


def member(strategy: str | None) -> Registration:
    return Registration(SUBSCRIPTION, "1", strategy)


@pytest.mark.parametrize(
    ("members", "busy"),
    [
        pytest.param({"b": member("range")}, True, id="of the same rules"),
        pytest.param({"b": member(None)}, False, id="a JVM member"),
        pytest.param({}, False, id="gone"),
    ],
)
def test_a_partition_without_a_reader_is_named_once_after_ten_seconds(
    members: dict[str, Registration], busy: bool, caplog: pytest.LogCaptureFixture
) -> None:
    clock = StillClock()
    unread = UnreadPartitions("range", "new", cast(Any, clock))
    for _ in range(5):
        unread.look(TARGET, {P0}, (), members)
        unread.boundary()
    assert (unread.suspects, caplog.messages) == ((), [])
    clock.now += 10.0
    for _ in range(2):
        unread.boundary()
    assert unread.suspects == (P1,)
    (line,) = caplog.messages
    assert "ZKG-121" in line
    assert "t-1" in line
    assert ("current batch" in line) is busy
    unread.look(TARGET, {P0}, {P1}, members)
    unread.boundary()
    assert not unread.named
