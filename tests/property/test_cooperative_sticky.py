"""What holds for every assignment of a leader, whatever the members own."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription
from pyspark_zkgroup.kafka.member_settings import ASSIGNORS
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import (
    Assignments,
    GroupMember,
    assign,
    cooperative_sticky,
)

TOPICS = ("a", "b", "c")
NAMES = st.lists(st.text("mnop", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)
Counts = dict[str, tuple[int, ...]]


def every(counts: Counts) -> set[TopicPartition]:
    return {TopicPartition(t, n) for t, numbers in counts.items() for n in numbers}


@st.composite
def groups(draw: st.DrawFn, *, equal: bool = False) -> tuple[list[GroupMember], Counts]:
    """Members that may claim anything, whether it exists or another member has it too."""
    counts = {t: tuple(range(draw(st.integers(0, 6)))) for t in TOPICS}
    claimed = st.frozensets(
        st.builds(TopicPartition, st.sampled_from([*TOPICS, "gone"]), st.integers(0, 7)), max_size=8
    )
    read = st.just(TOPICS) if equal else st.sets(st.sampled_from(TOPICS)).map(tuple)
    members = [
        GroupMember(
            name,
            MemberSubscription(draw(read), draw(claimed), draw(st.sampled_from([None, -1, 3, 4]))),
            draw(st.sampled_from([None, f"i-{name}"])),
        )
        for name in draw(NAMES)
    ]
    return members, counts


def after(members: list[GroupMember], assigned: Assignments, generation: int) -> list[GroupMember]:
    """Every member has taken its assignment and joins again."""
    return [
        GroupMember(
            m.id,
            MemberSubscription(m.subscription.topics, assigned[m.id], generation),
            m.instance,
        )
        for m in members
    ]


def settled(members: list[GroupMember], counts: Counts) -> Assignments:
    assigned = cooperative_sticky(members, counts)
    for generation in range(5, 9):
        members = after(members, assigned, generation)
        again = cooperative_sticky(members, counts)
        if again == assigned:
            return assigned
        assigned = again
    raise AssertionError("the group does not come to rest")


@given(groups(), st.sampled_from(ASSIGNORS))
def test_nothing_is_given_twice_or_to_who_does_not_read_it(
    group: tuple[list[GroupMember], Counts], name: str
) -> None:
    members, counts = group
    assigned = assign(name, members, counts)
    assert assigned.keys() == {m.id for m in members}
    given_ = Counter(p for own in assigned.values() for p in own)
    assert all(count == 1 for count in given_.values())
    assert given_.keys() <= every(counts)
    for member in members:
        assert {p.topic for p in assigned[member.id]} <= set(member.subscription.topics)


@given(groups())
def test_an_owned_partition_is_given_to_no_other_member(
    group: tuple[list[GroupMember], Counts],
) -> None:
    members, counts = group
    assigned = cooperative_sticky(members, counts)
    for member in members:
        for partition in member.subscription.owned:
            takers = [m for m in members if m is not member and partition in assigned[m.id]]
            assert all(is_newer(m, member, partition) for m in takers)


def is_newer(one: GroupMember, other: GroupMember, partition: TopicPartition) -> bool:
    """The only member that may get an owned partition: its owner of a later time."""
    mine, theirs = one.subscription, other.subscription
    if mine.generation is None or theirs.generation is None:
        return False
    return partition in mine.owned and mine.generation > theirs.generation


def test_who_alone_owns_it_is_believed_whatever_the_generation() -> None:
    p0, p1, p2 = (TopicPartition("t", n) for n in range(3))
    members = [
        GroupMember("a", MemberSubscription(("t",), frozenset({p0, p1}), 4)),
        GroupMember("b", MemberSubscription(("t",), frozenset({p1, p2}), 5)),
        GroupMember("c", MemberSubscription(("t",), frozenset(), 5)),
    ]
    assigned = cooperative_sticky(members, {"t": range(3)})
    assert p0 in assigned["a"]
    assert p1 not in assigned["a"] | assigned["c"]
    assert p2 not in assigned["a"] | assigned["c"]


@pytest.mark.parametrize(
    ("of_a", "of_b", "of_p0"), [(4, 5, "b"), (5, 4, "a"), (5, 5, None), (None, 5, None)]
)
def test_of_two_owners_the_one_of_the_newer_generation_is_believed(
    of_a: int | None, of_b: int | None, of_p0: str | None
) -> None:
    p0 = TopicPartition("t", 0)
    members = [
        GroupMember(name, MemberSubscription(("t",), frozenset({p0}), generation))
        for name, generation in (("a", of_a), ("b", of_b))
    ]
    assigned = cooperative_sticky(members, {"t": range(2)})
    assert [name for name, own in sorted(assigned.items()) if p0 in own] == (
        [] if of_p0 is None else [of_p0]
    )


@settings(max_examples=40)
@given(groups())
def test_in_the_end_all_subscribed_partitions_are_read(
    group: tuple[list[GroupMember], Counts],
) -> None:
    members, counts = group
    assigned = settled(members, counts)
    readable = {t for m in members for t in m.subscription.topics}
    assert set().union(*assigned.values()) == {p for p in every(counts) if p.topic in readable}


@settings(max_examples=40)
@given(groups(equal=True))
def test_equal_members_end_with_equal_shares(group: tuple[list[GroupMember], Counts]) -> None:
    sizes = [len(own) for own in settled(*group).values()]
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=40)
@given(groups(equal=True), st.text("xyz", min_size=1, max_size=2))
def test_a_join_moves_no_more_than_the_newcomers_share(
    group: tuple[list[GroupMember], Counts], newcomer: str
) -> None:
    members, counts = group
    before = settled(members, counts)
    joined = [*after(members, before, 9), GroupMember(newcomer, MemberSubscription(TOPICS))]
    now = settled(joined, counts)
    for member, own in before.items():
        assert now[member] <= own
    assert len(now[newcomer]) <= -(-len(every(counts)) // len(joined))


@settings(max_examples=40)
@given(groups(equal=True))
def test_a_leave_moves_only_what_is_left_behind(
    group: tuple[list[GroupMember], Counts],
) -> None:
    members, counts = group
    before = settled(members, counts)
    if len(members) > 1:
        now = settled(after(members[1:], before, 9), counts)
        for member in members[1:]:
            assert before[member.id] <= now[member.id]
