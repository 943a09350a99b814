from __future__ import annotations

from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.jvm.registration import Registration, Subscription


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
    assert told.startswith("a of the same group uses the strategy roundrobin (old order)")
    assert "this member uses range" in told


def test_of_one_and_of_several_each_is_named_with_its_rule() -> None:
    odd = member("roundrobin")
    assert conflict(member("range"), {"b": odd, "c": member("range")}) == (
        "b of the same group uses the strategy roundrobin (new order), but this member uses range. "
        "They would claim the same partitions"
    )
    assert conflict(member("range"), {"b": odd, "c": odd, "a": member("roundrobin", "old")}) == (
        "a of the same group uses the strategy roundrobin (old order); b, c of the same group "
        "use the strategy roundrobin (new order), but this member uses range. They would claim the "
        "same partitions"
    )


def test_of_many_five_are_named_and_the_others_counted() -> None:
    told = conflict(member("range"), {f"m{n}": member("roundrobin") for n in range(7)})
    assert told is not None
    assert told.startswith("m0, m1, m2, m3, m4 of the same group use the strategy roundrobin")
    assert "m5" not in told
    assert "(2 more differ), but this member uses range" in told


def test_another_order_is_a_conflict_too() -> None:
    told = conflict(member("roundrobin", "old"), {"a": member("roundrobin", "new")})
    assert told is not None
    assert "roundrobin (new order)" in told
