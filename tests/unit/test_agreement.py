from __future__ import annotations

from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.group.registration import Registration, Subscription


def member(strategy: str | None, order: str | None = "new") -> Registration:
    return Registration(Subscription.static({"t": 1}), "1", strategy, order)


def test_members_of_one_rule_agree() -> None:
    others = {"a": member("range"), "jvm": member(None, None)}
    assert conflict(member("range"), others) is None
    assert conflict(member("roundrobin"), {}) is None


def test_the_order_of_round_robin_is_of_no_account_under_range() -> None:
    assert conflict(member("range", "old"), {"a": member("range", "new")}) is None


def test_another_strategy_is_named_with_its_member() -> None:
    told = conflict(member("range"), {"b": member("roundrobin"), "a": member("roundrobin", "old")})
    assert told is not None
    assert told.startswith("a of the same group assigns partitions by roundrobin (old order)")
    assert "this member by range" in told


def test_another_order_is_a_conflict_too() -> None:
    told = conflict(member("roundrobin", "old"), {"a": member("roundrobin", "new")})
    assert told is not None
    assert "roundrobin (new order)" in told
