"""Who would own what in a group that the brokers coordinate."""

from __future__ import annotations

from collections import Counter

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts
from pyspark_zkgroup.inspect.brokered_what_if import Foreseen, foreseen
from pyspark_zkgroup.inspect.what_if import Change
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, TopicPartition

T = [TopicPartition("orders", n) for n in range(6)]
TOPICS = {"orders": (0, 1, 2, 3, 4, 5)}


def member(name: str, *numbers: int) -> BrokeredMember:
    own = frozenset(T[n] for n in numbers)
    return BrokeredMember(name, topics=("orders",), assigned=own)


TWO = (member("a", 0, 1, 2), member("b", 3, 4, 5))


def after(
    change: Change, *members: BrokeredMember, assignor: str = "cooperative-sticky"
) -> Foreseen:
    group = BrokeredGroup("g", "classic", "Stable", assignor, None, members or TWO)
    return foreseen(BrokeredFacts(group, {}, TOPICS), change)


def shares(found: Foreseen) -> dict[str, int]:
    return dict(Counter(found.owners.values()))


def test_a_settled_group_stays_as_it_is() -> None:
    assert after(Change()).owners == {p: "ab"[p.partition // 3] for p in T}


def test_another_member_gets_its_share_and_the_rest_stays() -> None:
    found = after(Change(more=("c",)))
    assert shares(found) == {"a": 2, "b": 2, "c": 2}
    assert found.remarks == ("c: reads what a reads",)
    assert sum(found.owners[p] == "ab"[p.partition // 3] for p in T) == 4


def test_without_a_member_the_others_have_all() -> None:
    assert shares(after(Change(without=("a",)))) == {"b": 6}


def test_more_partitions_are_shared_out_too() -> None:
    assert shares(after(Change(partitions={"orders": 8}))) == {"a": 4, "b": 4}
    with pytest.raises(AssignmentError, match="cannot remove any"):
        after(Change(partitions={"orders": 3}))


def test_another_assignor_decides_by_its_own_rule() -> None:
    found = after(Change(strategy="roundrobin"))
    assert found.rule == "roundrobin"
    assert [found.owners[p] for p in T] == ["a", "b"] * 3


def test_an_unknown_assignor_is_approximated_with_a_remark() -> None:
    found = after(Change(more=("c",)), assignor="uniform")
    assert shares(found) == {"a": 2, "b": 2, "c": 2}
    assert found.remarks[0].startswith("uniform is not known here")


def test_what_a_coordinator_hides_cannot_be_foreseen() -> None:
    group = BrokeredGroup("g", state="PreparingRebalance", members=(BrokeredMember("a"),))
    with pytest.raises(AssignmentError, match="is rebalancing"):
        foreseen(BrokeredFacts(group, {}, TOPICS), Change())
    empty = BrokeredFacts(BrokeredGroup("g", state="Empty"), {}, TOPICS)
    with pytest.raises(AssignmentError, match="has no member"):
        foreseen(empty, Change())
    with pytest.raises(AssignmentError, match="but the group has no members"):
        foreseen(empty, Change(more=("a",)))
