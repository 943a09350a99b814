"""What `doctor` says of a group: each finding where it is, and none where all is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from pyspark_zkgroup.inspect.findings import needs_second_look
from pyspark_zkgroup.inspect.report import Seen, Written
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy, encode_candidacy
from tests.unit.inspect.faulty_group import NOW_MS, Group, T, codes, found, fresh, member, owner

IN_OFFICE = Seen(encode_candidacy(Candidacy("one")), 5, 3000, life=90)


def test_of_a_group_that_reads_there_is_nothing_to_say() -> None:
    assert found(Group()) == ()


def test_a_second_look_is_taken_where_something_waits_or_moves() -> None:
    assert needs_second_look(Group().look())
    assert not needs_second_look(Group(ends=dict.fromkeys(T, 100)).look())
    assert needs_second_look(
        Group(owners={p: owner("a") for p in T}, ends=dict.fromkeys(T, 100)).look()
    )


def test_an_owner_node_without_a_session_is_reported_with_its_path() -> None:
    owners = {**Group().owners, T[2]: owner("gone", session=0), T[3]: owner("gone", session=0)}
    (said,) = found(Group(owners=owners))
    assert said.text.startswith("[ZKG-201] t-2, t-3 cannot be claimed")
    assert "names gone-0" in said.text
    assert "belongs to no session" in said.text
    assert "/consumers/g/owners/t/2" in said.remedy
    assert "`zkgroup members evict g gone`" in said.remedy
    assert said.is_ill


def test_a_session_that_is_no_member_is_named() -> None:
    (said,) = found(Group(owners={**Group().owners, T[2]: owner("gone", session=0x4711)}))
    assert said.text == (
        "[ZKG-202] t-2 cannot be claimed: owned for 10 min (since 1970-01-01 02:36:40 UTC) by "
        "gone-0, which is not registered, in session 0x4711; 10 records wait"
    )
    assert "`echo cons | nc HOST 2181`" in said.remedy
    assert "`stat /consumers/g/owners/t/2`" in said.remedy
    assert "ephemeralOwner is 0x4711" in said.remedy
    assert "within its timeout" in said.remedy
    assert "0x0" in said.remedy


def awaited(ago_s: float) -> Group:
    """Two partitions of a are assigned to b, and a has committed nothing since."""
    return Group(
        owners={p: owner("a") for p in T},
        written=dict.fromkeys(T, fresh(ago_s)),
        ends=dict.fromkeys(T, 500),
    )


def test_a_member_that_commits_nothing_while_another_waits_for_it_is_stuck() -> None:
    (said,) = found(awaited(600))
    assert said.text.startswith("[ZKG-203] a is stuck, or in a long batch: it holds 4 partitions")
    assert "1,600 unread records" in said.text
    assert "nothing for 10 min (since 1970-01-01 02:36:40 UTC); b waits for" in said.text
    assert "`zkgroup members evict g a`" in said.remedy
    assert said.is_ill


def test_what_a_stuck_member_has_not_claimed_is_named_with_it() -> None:
    group = awaited(600)
    (said,) = found(replace(group, owners={p: owner("a") for p in T if p != T[0]}))
    assert "; assigned to it but read by no member: t-0" in said.text
    assert T[0] in said.partitions


def test_how_long_a_member_may_be_silent() -> None:
    assert codes(awaited(10)) == []
    # The second look is five seconds later.
    for ago_s, is_ill in ((40, False), (294, False), (295, True)):
        (said,) = found(awaited(ago_s))
        assert said.is_ill is is_ill
    # No member waits for it: triggers may be minutes apart.
    alone = Group(ids={"a": member()}, owners={p: owner("a") for p in T})
    for ago_s, expected in ((200, []), (294, []), (295, ["ZKG-203"])):
        assert codes(replace(alone, written=dict.fromkeys(T, fresh(ago_s)))) == expected


def test_a_member_that_commits_is_not_stuck_however_far_behind() -> None:
    moved = replace(awaited(600), written={**dict.fromkeys(T, fresh(600)), T[0]: fresh(-2)})
    assert codes(awaited(600), moved) == []
    # Nor is one that has just claimed a partition.
    before = replace(awaited(600), owners={**awaited(600).owners, T[0]: owner("b")})
    assert "ZKG-203" not in codes(before, awaited(600))


def test_what_is_not_claimed_is_named_if_it_stays_so() -> None:
    free = Group(owners={p: o for p, o in Group().owners.items() if p != T[3]})
    (said,) = found(free)
    assert said.text.startswith("[ZKG-204] No member owns t-3: b is assigned to read them")
    assert "current batch" in said.remedy
    assert codes(free, Group()) == []
    assert codes(Group(), free) == []


def test_what_a_jvm_member_does_not_claim_may_be_due_to_its_strategy() -> None:
    ids = {"a": member(), "b": member(strategy=None)}
    (said,) = found(Group(ids=ids, owners={p: o for p, o in Group().owners.items() if p != T[3]}))
    assert said.text.startswith("[ZKG-204]")
    assert "partition.assignment.strategy" in said.remedy


def test_members_of_both_kinds_are_distinguished() -> None:
    ids = {"a": member(), "b": member(strategy="sticky", order="")}
    (said,) = found(Group(ids=ids, told=frozenset({"b"}), coordinator=IN_OFFICE))
    assert said.text.startswith("[ZKG-205] a assign partitions themselves, and b receive")


def test_the_odd_one_is_named_where_members_assign_differently() -> None:
    ids = {"a": member(), "b": member(), "c": member(strategy="roundrobin")}
    (said,) = [s for s in found(Group(ids=ids)) if "ZKG-206" in s.text]
    assert "a, b by range; c by roundrobin (new order)" in said.text
    assert "claimed by two members, others by none" in said.text
    assert "Set partition.assignment.strategy=range in c," in said.remedy
    free = {p: o for p, o in Group().owners.items() if p != T[3]}
    (unread,) = [s for s in found(Group(ids=ids, owners=free)) if "ZKG-206" in s.text]
    assert "claimed by two members, t-3 by none" in unread.text
    turned = {"a": member(strategy="roundrobin"), "b": ids["c"], "c": ids["a"]}
    (said,) = [s for s in found(Group(ids=turned)) if "ZKG-206" in s.text]
    assert "strategy=roundrobin and partition.assignment.order=new in c," in said.remedy
    (even,) = [s for s in found(Group(ids={"a": ids["a"], "c": ids["c"]})) if "ZKG-206" in s.text]
    assert even.remedy.startswith("Set the same partition.assignment.strategy in all members")


def test_with_different_strategies_no_member_is_called_spare_or_late() -> None:
    """The assignment is then unknown."""
    ids = {"a": member(), "b": member(), "c": member(strategy="roundrobin")}
    free = {p: o for p, o in Group().owners.items() if p != T[3]}
    assert codes(Group(ids=ids, owners=free)) == ["ZKG-206"]
    wrong = {**ids, "d": member(Subscription.static({"tt": 1}))}
    assert codes(Group(ids=wrong, owners=free)) == ["ZKG-206", "ZKG-209"]


def test_with_an_unknown_strategy_no_member_is_called_late() -> None:
    ids = {"a": member(strategy="unheard", order="")}
    free = {p: owner("a") for p in T[:3]}
    (said,) = found(Group(ids=ids, owners=free))
    assert said.text.startswith("the target assignment is not known")


def test_the_order_of_round_robin_decides_nothing_under_range() -> None:
    assert codes(Group(ids={"a": member(order="old"), "b": member(order="new")})) == []
    both = {s: member(strategy="roundrobin", order=o) for s, o in (("a", "old"), ("b", "new"))}
    assert "ZKG-206" in codes(Group(ids=both))


def told(*consumers: str, owners: Mapping[TopicPartition, Seen] | None = None) -> Group:
    return Group(
        ids={c: member(strategy="sticky", order="") for c in consumers},
        told=frozenset(consumers),
        owners=owners if owners is not None else Group().owners,
    )


def test_without_a_coordinator_readers_waiting_members_and_unread_partitions_are_reported() -> None:
    (newcomer,) = found(told("a", "b", "c"))
    assert newcomer.text == (
        "[ZKG-207] No coordinator is active: 2 members continue with the partitions held; "
        "c waits for an assignment"
    )
    assert "`zkgroup coordinator`" in newcomer.remedy
    (dead,) = found(told("a", owners={T[0]: owner("a"), T[1]: owner("a")}))
    assert dead.text.endswith("1 member continues with the partitions held; not read: t-2, t-3")
    assert codes(replace(told("a", "b"), coordinator=IN_OFFICE)) == []


def test_a_group_without_members_is_reported_if_records_wait() -> None:
    gone = Group(ids={}, owners={})
    (said,) = found(gone)
    assert said.text == "[ZKG-208] The group has no members, and 40 records wait"
    assert codes(replace(gone, ends=dict.fromkeys(T, 100))) == []


@pytest.mark.parametrize(
    ("reads", "text", "remedy"),
    [
        (Subscription.static({"tt": 1}), "it subscribes to tt", "(similar names: t)"),
        (Subscription.white_list("x.*", 1), "no topic matches its white_list 'x.*'", "topics: t"),
    ],
)
def test_a_member_that_finds_nothing_to_read(reads: Subscription, text: str, remedy: str) -> None:
    (said,) = found(Group(ids={**Group().ids, "c": member(reads)}))
    assert said.text.startswith(f"[ZKG-209] c owns nothing: {text}")
    assert remedy in said.remedy
    assert said.is_ill


def test_a_member_too_many_is_a_spare_and_no_illness() -> None:
    wide = member(Subscription.static({"t": 2}))
    owners = dict(zip(T, map(owner, "aabb"), strict=True))
    (said,) = found(Group(ids={"a": wide, "b": wide, "c": wide}, owners=owners))
    assert said.text.startswith("[ZKG-209] c owns nothing: range assigns each topic alone, to")
    assert "6 threads" in said.text
    assert not said.is_ill


def test_more_members_than_partitions_leave_a_spare() -> None:
    registration = Registration(Subscription.static({"t": 1}), "1", "range", "new", balanced=True)
    ids = {
        name: replace(Group().ids["a"], data=encode_registration(registration)) for name in "abcde"
    }
    owners = dict(zip(T, map(owner, "abcd"), strict=True))
    (said,) = found(Group(ids=ids, owners=owners))
    assert said.text.startswith("[ZKG-209] e owns nothing: its topics have 4 partitions, and 5 mem")
    assert "add partitions" in said.remedy
    assert not said.is_ill


def test_a_member_that_range_leaves_out_of_small_topics() -> None:
    reads = member(Subscription.static(dict.fromkeys("xyz", 1)))
    each = [TopicPartition(topic, 0) for topic in "xyz"]
    group = Group(
        ids={"a": reads, "b": reads},
        topics=dict.fromkeys("xyz", (0,)),
        owners={p: owner("a") for p in each},
        offsets=dict.fromkeys(each, 100),
        ends=dict.fromkeys(each, 100),
    )
    (said,) = found(group)
    assert said.text.startswith("[ZKG-209] b owns nothing: range assigns each topic alone")
    assert "at its default (balanced) in all members" in said.remedy


def test_a_member_with_an_unreadable_registration_owns_nothing() -> None:
    (said,) = found(Group(ids={**Group().ids, "c": Seen(b"rubbish", 7, NOW_MS)}))
    assert said.text.startswith("[ZKG-209] c owns nothing: its registration cannot be read (")
    assert "/consumers/g/ids/c" in said.remedy


def test_offsets_that_are_gone_under_their_owner_or_among_others() -> None:
    offsets = {p: 100 for p in T if p not in (T[0], T[2])}
    (said,) = found(Group(offsets=offsets))
    assert said.text.startswith("[ZKG-210] No committed offset exists for t-0, t-2")
    free = {p: o for p, o in Group().owners.items() if p != T[0]}
    (waiting,) = [s for s in found(Group(owners=free, offsets=offsets)) if "ZKG-210" in s.text]
    assert waiting.text == said.text
    # What was added to the topic has none yet, nor has what a JVM member has just claimed.
    added = {p: o for p, o in Group().owners.items() if p != T[3]}
    assert "ZKG-210" not in codes(Group(owners=added, offsets=dict.fromkeys(T[:3], 100)))
    jvms = {"a": member(strategy=None), "b": member(strategy=None)}
    assert "ZKG-210" not in codes(Group(ids=jvms, offsets=dict.fromkeys(T[:3], 100)))
    assert "ZKG-210" not in codes(Group(offsets=offsets), Group())


def test_offset_nodes_younger_than_their_neighbours_were_lost_once() -> None:
    young = Written(NOW_MS - 60_000, NOW_MS)
    (said,) = found(Group(written={T[1]: young}))
    assert said.text.startswith(
        "[ZKG-211] The offset nodes of t-1 were created 65 s ago (1970-01-01 02:45:40 UTC), the "
        "others of t 13 min ago (1970-01-01 02:33:20 UTC):"
    )
    assert not said.is_ill
    # The largest number may have been added to the topic by then.
    assert codes(Group(written={T[3]: young})) == []
    (both,) = found(Group(written={T[1]: young, T[3]: young}))
    assert "offset nodes of t-1, t-3 were" in both.text
    added = Written(NOW_MS - 30_000, NOW_MS)
    (one,) = found(Group(written={T[1]: young, T[3]: added}))
    assert "offset nodes of t-1 were" in one.text
    jvm = {"a": member(strategy=None), "b": member()}
    assert "ZKG-211" not in codes(Group(ids=jvm, written={T[1]: young}))


def test_an_offset_before_the_log_begins() -> None:
    (said,) = found(Group(starts={**Group().starts, T[1]: 105}))
    assert said.text.startswith("[ZKG-212] The group's offset of t-1 is 100, but its log starts at")
    assert "5 records were deleted" in said.text
    assert "Stop the members, then run" in said.remedy
    assert codes(Group(starts={**Group().starts, T[1]: 100})) == []
    at_0 = Group(offsets={**Group().offsets, T[1]: 0}, starts={**Group().starts, T[1]: 1})
    assert "ZKG-212" in codes(at_0)
    gone = Group(ids={}, owners={}, starts={**Group().starts, T[1]: 105})
    (said,) = [finding for finding in found(gone) if "ZKG-212" in finding.text]
    assert said.remedy.startswith("Run `zkgroup offsets reset g")
    assert "`zkgroup offsets reset g --topic t:1 --to-earliest --execute`" in said.remedy


def test_an_offset_beyond_the_log() -> None:
    short = Group(ends={**Group().ends, T[1]: 90})
    (said,) = found(short)
    assert said.text.startswith("[ZKG-213] The group's offset of t-1 is 100, beyond the end")
    # A commit may come between reading the offset and asking for the end.
    assert codes(short, Group()) == []
    new = Group(offsets={**short.offsets, T[1]: 0}, ends={**short.ends, T[1]: 0})
    assert codes(new, Group(ends={**short.ends, T[1]: 90})) == []


def test_notes_of_the_report_that_are_no_faults_are_passed_on() -> None:
    jvms = {"a": member(strategy=None), "b": member(strategy=None)}
    (said,) = found(Group(ids=jvms))
    assert "range is assumed" in said.text
    assert not said.is_ill
