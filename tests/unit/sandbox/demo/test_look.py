"""What is worked out from one look at the group."""

from __future__ import annotations

from zkgroup_sandbox.demo.look import Look


def test_lag_is_the_end_of_the_log_less_what_is_committed() -> None:
    look = Look(committed={0: 40, 1: 100}, ends={0: 100, 1: 90, 2: 7})
    assert [look.lag(p) for p in range(3)] == [60, 0, 7]
    assert look.total_lag == 67


def test_a_share_is_what_a_member_owns() -> None:
    look = Look(owners={2: "a", 0: "a", 1: "b"})
    assert look.share("a") == (0, 2)
    assert look.share("absent") == ()


def test_a_partition_released_and_claimed_again_by_its_owner_was_not_kept() -> None:
    before = Look(owners={0: "a", 1: "a", 2: "a"}, claimed_by={0: 5, 1: 6, 2: 7})
    after = Look(owners={0: "a", 1: "a", 2: "b"}, claimed_by={0: 5, 1: 9, 2: 10})
    assert after.kept_since(before) == 1
