"""What is said of a group from what its nodes hold: states, lags, and rules that do not agree."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.group.report import GroupFacts, GroupReport, Seen, report, topics_read
from pyspark_zkgroup.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def member(strategy: str | None = "range", order: str | None = "new") -> Seen:
    made = Registration(Subscription.static({"t": 1}), "1", strategy, order)
    return Seen(encode_registration(made), session=7, made_ms=1000)


def owner(consumer: str) -> Seen:
    return Seen(f"{consumer}-0".encode(), session=7, made_ms=2000)


def seen(ends: dict[TopicPartition, int] | None = None, **facts: object) -> GroupReport:
    given = {"ids": {"a": member(), "b": member()}, "topics": {"t": (0, 1)}, **facts}
    return report(GroupFacts("g", **given), ends or {})  # type: ignore[arg-type]


def states(found: GroupReport) -> dict[TopicPartition, str]:
    return {row.partition: row.state for row in found.partitions}


def test_owned_by_whom_it_shall_be() -> None:
    found = seen(owners={T0: owner("a"), T1: owner("b")})
    assert states(found) == {T0: "owned", T1: "owned"}
    assert [m.owns for m in found.members] == [1, 1]
    assert found.partitions[0].since_ms == 2000
    assert not found.notes


def test_on_the_move_from_one_member_to_another() -> None:
    found = seen(owners={T0: owner("a"), T1: owner("a")})
    assert states(found) == {T0: "owned", T1: "moving"}
    assert (found.partitions[1].member, found.partitions[1].wanted_by) == ("a", "b-0")


def test_free_until_it_is_claimed() -> None:
    assert states(seen(owners={T0: owner("a")})) == {T0: "owned", T1: "free"}


def test_stuck_with_an_owner_that_is_not_registered() -> None:
    found = seen(owners={T0: owner("gone"), T1: owner("b")})
    assert states(found) == {T0: "stuck", T1: "owned"}
    assert found.partitions[0].wanted_by == "a-0"


def test_unread_when_only_an_offset_is_left() -> None:
    found = seen(ids={}, topics={}, offsets={T0: b"5"}, ends={T0: 9})
    assert states(found) == {T0: "unread"}
    assert found.lag == 4


def test_lag_is_end_less_committed_and_never_below_0() -> None:
    found = seen({T0: 30, T1: 3}, offsets={T0: b"10", T1: b"5"})
    assert [row.lag for row in found.partitions] == [20, 0]
    assert (found.lag, found.unknown_lags) == (20, 0)


@pytest.mark.parametrize("offsets", [{}, {T0: b"-1"}, {T0: b"ten"}])
def test_lag_without_an_offset_is_unknown_and_not_0(offsets: dict[TopicPartition, bytes]) -> None:
    found = seen({T0: 30, T1: 30}, offsets=offsets)
    assert found.partitions[0].lag is None
    assert found.unknown_lags == 2


def test_rubbish_in_an_offset_node_is_named() -> None:
    found = seen(offsets={T0: b"ten"})
    assert found.partitions[0].trouble == "its offset node holds b'ten', which is no offset"


def test_an_unreadable_registration_is_shown_with_its_trouble() -> None:
    found = seen(ids={"a": member(), "bad": Seen(b"rubbish", 8, 1)})
    assert [m.kind for m in found.members] == ["zkgroup", "unreadable"]
    assert "/consumers/g/ids/bad" in (found.members[1].trouble or "")


def test_members_that_assign_differently_are_named() -> None:
    found = seen(ids={"a": member(), "b": member("roundrobin"), "c": member("roundrobin")})
    assert "range (new) by 1, roundrobin (new) by 2" in found.notes[0]


def test_of_jvm_members_alone_range_is_assumed_and_said() -> None:
    found = seen(ids={"j": member(None, None)})
    assert found.members[0].kind == "jvm"
    assert "range is assumed" in found.notes[0]
    assert found.partitions[1].wanted_by == "j-0"


def test_the_topics_of_a_group_are_those_read_now_or_before() -> None:
    facts = GroupFacts(
        "g", {"a": member()}, {"t": (0,), "other": (0,)}, {}, {TopicPartition("old", 3): b"1"}
    )
    assert topics_read(facts) == {"t", "old"}
