"""A group as it would be: what is changed in what was read of it, and what cannot be."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, report
from pyspark_zkgroup.inspect.what_if import Change, changed
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy, encode_candidacy
from tests.unit.inspect.faulty_group import T, member, owner

TOLD = frozenset({"a", "b"})
TWO = {"a": member(), "b": member()}


def facts(ids: dict[str, Seen] | None = None, told: frozenset[str] = frozenset()) -> GroupFacts:
    owners = dict(zip(T, map(owner, "aabb"), strict=True))
    return GroupFacts("g", ids or TWO, {"t": (0, 1, 2, 3), "u": (0,)}, owners, {}, told)


def dealt(change: Change, given: GroupFacts | None = None) -> str:
    """The owners of the partitions of t, in order; - for a partition without an owner."""
    seen = report(changed(given or facts(), change)[0], {})
    by_partition = {row.partition: row.wanted_by or "-" for row in seen.partitions}
    numbers = sorted(p.partition for p in by_partition if p.topic == "t")
    return "".join(by_partition[TopicPartition("t", n)][0] for n in numbers)


@pytest.mark.parametrize(
    ("change", "owners"),
    [
        (Change(), "aabb"),
        (Change(more=("c",)), "aabc"),
        (Change(more=("a0",)), "aaab"),
        (Change(more=("c", "d")), "abcd"),
        (Change(without=("a",)), "bbbb"),
        (Change(more=("c",), without=("a",)), "bbcc"),
        (Change(partitions={"t": 6}), "aaabbb"),
        (Change(strategy="range"), "aabb"),
        (Change(partitions={"t": 5}, more=("c",)), "aabbc"),
    ],
)
def test_what_members_would_own(change: Change, owners: str) -> None:
    assert dealt(change) == owners


@pytest.mark.parametrize(("strategy", "shares"), [("range", [2, 0]), ("roundrobin", [1, 1])])
def test_another_assignor_deals_otherwise(strategy: str, shares: list[int]) -> None:
    """Range deals each topic alone, so of two with one partition the first member has both."""
    both = Subscription.static({"u": 1, "v": 1})
    given = GroupFacts("g", {"a": member(both), "b": member(both)}, {"u": (0,), "v": (0,)})
    seen = report(changed(given, Change(strategy=strategy))[0], {})
    owners = [(row.wanted_by or "-")[0] for row in seen.partitions]
    assert [owners.count("a"), owners.count("b")] == shares


def test_members_of_a_coordinator_keep_what_they_can() -> None:
    sticky = {"b": member(strategy="sticky"), "c": member(strategy="sticky")}
    owners = dict(zip(T, map(owner, "bbbc"), strict=True))
    seat = Seen(encode_candidacy(Candidacy("one")), 5, 3000, 90)
    given = GroupFacts("g", sticky, {"t": (0, 1, 2, 3)}, owners, {}, frozenset(sticky), seat)
    after = dealt(Change(more=("a",)), given)
    assert sorted(after) == ["a", "b", "b", "c"]
    assert after[3] == "c"


def test_an_assignor_of_the_question_replaces_strategies_that_differ() -> None:
    given = facts({"a": member(strategy="roundrobin"), "b": member()})
    assert dealt(Change(), given) == "----"
    assert dealt(Change(strategy="range"), given) == "aabb"


def test_a_new_member_subscribes_as_most_do_and_a_remark_says_so() -> None:
    odd = member(Subscription.static({"u": 3}))
    given = facts({"a": odd, "b": member(), "c": member()})
    after, remarks = changed(given, Change(more=("d",)))
    assert after.ids["d"] == given.ids["b"]
    assert remarks == ("d: as b, with its topics and threads",)


def test_a_member_that_left_is_no_model_and_receives_nothing() -> None:
    given = facts({"a": member(strategy="sticky"), "b": member(strategy="sticky")}, told=TOLD)
    after, _ = changed(given, Change(more=("c",), without=("a",)))
    assert set(after.ids) == {"b", "c"}
    assert after.told == {"b", "c"}


def test_jvm_members_say_no_rule_that_could_be_changed() -> None:
    jvm = member(strategy=None)
    after, _ = changed(facts({"a": jvm, "b": member()}), Change(strategy="roundrobin"))
    assert after.ids["a"] == jvm
    assert b"roundrobin" in after.ids["b"].data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Change(more=("a",)), "a is already a member"),
        (Change(more=("c",), without=("a", "b")), "but the group has no members"),
        (Change(partitions={"t": 3}), "t has 4 partitions, and Kafka cannot remove any"),
        (Change(partitions={"a b": 3}), "'a b' is not a valid topic name"),
    ],
)
def test_what_cannot_be_is_refused(change: Change, said: str) -> None:
    with pytest.raises(AssignmentError, match=said):
        changed(facts(), change)


def test_a_coordinator_always_assigns_with_its_own_strategy() -> None:
    with pytest.raises(AssignmentError, match="always with the strategy sticky"):
        changed(facts(told=TOLD), Change(strategy="range"))
