from __future__ import annotations

from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.zookeeper.rules.suspicion import BOUNDARIES, Unread, busy_text, text

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
TARGET = {P0: ThreadId("a", 0), P1: ThreadId("b", 0)}


def test_a_partition_is_named_once_after_three_boundaries() -> None:
    unread = Unread()
    newly = []
    for _ in range(BOUNDARIES + 2):
        unread = unread.after(TARGET, {P0})
        newly.append(unread.newly_suspect)
    assert newly == [(), (), (P1,), (), ()]
    assert unread.suspects == (P1,)


def test_an_owner_or_a_lost_target_restarts_the_count() -> None:
    unread = Unread().after(TARGET, ()).after(TARGET, ())
    assert unread.after(TARGET, {P0, P1}).after(TARGET, ()).suspects == ()
    assert unread.after({P0: ThreadId("a", 0)}, ()).suspects == (P0,)


def test_the_text_names_partition_thread_and_rule() -> None:
    told = text(P1, TARGET[P1], "roundrobin", "old")
    for part in ("t-1", "b-0", "roundrobin (old order)", "partition.assignment.strategy"):
        assert part in told
    assert "(old" not in text(P1, TARGET[P1], "range", "old")


def test_a_zkgroup_member_is_not_suspected_of_another_strategy() -> None:
    line = busy_text(TopicPartition("orders", 3), ThreadId("g_x", 1))

    assert "orders-3" in line
    assert "g_x-1" in line
    assert "current batch" in line
    assert "strategy" not in line
