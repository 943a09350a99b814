"""What `doctor` says of a group: each ailment where it is, and none where all is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from pyspark_zkgroup.group.ailments import Ailment, Case, Look, ailments, needs_second_look
from pyspark_zkgroup.group.coordination.candidacy import Candidacy, encode_candidacy
from pyspark_zkgroup.group.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.group.report import GroupFacts, Seen, Written, report
from pyspark_zkgroup.model import TopicPartition

T = [TopicPartition("t", n) for n in range(4)]
NOW_MS = 10_000_000
LATER_MS = NOW_MS + 5000
IN_OFFICE = Seen(encode_candidacy(Candidacy("one")), 5, 3000, life=90)


def member(
    subscription: Subscription | None = None, strategy: str | None = "range", order: str = "new"
) -> Seen:
    reads = subscription or Subscription.static({"t": 1})
    made = Registration(reads, "1", strategy, order if strategy else None)
    return Seen(encode_registration(made), session=7, made_ms=NOW_MS - 900_000)


def owner(consumer: str, session: int = 7) -> Seen:
    return Seen(f"{consumer}-0".encode(), session, made_ms=NOW_MS - 600_000)


def fresh(ago_s: float = 1.0) -> Written:
    return Written(NOW_MS - 800_000, NOW_MS - int(ago_s * 1000))


@dataclass(frozen=True)
class Group:
    """Two members of four partitions, to whom nothing is wrong, unless told otherwise."""

    ids: Mapping[str, Seen] = field(default_factory=lambda: {"a": member(), "b": member()})
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"t": (0, 1, 2, 3)})
    owners: Mapping[TopicPartition, Seen] = field(
        default_factory=lambda: dict(zip(T, map(owner, "aabb"), strict=True))
    )
    offsets: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 100))
    written: Mapping[TopicPartition, Written] = field(
        default_factory=lambda: dict.fromkeys(T, fresh())
    )
    ends: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 110))
    starts: Mapping[TopicPartition, int] = field(default_factory=lambda: dict.fromkeys(T, 0))
    told: frozenset[str] = frozenset()
    coordinator: Seen | None = None

    def look(self, at_ms: int = NOW_MS) -> Look:
        facts = GroupFacts(
            "g",
            self.ids,
            self.topics,
            self.owners,
            {p: b"%d" % offset for p, offset in self.offsets.items()},
            self.told,
            self.coordinator,
            written={p: self.written.get(p, fresh()) for p in self.offsets},
        )
        return Look(facts, report(facts, self.ends), self.starts, at_ms)


def found(first: Group, last: Group | None = None) -> tuple[Ailment, ...]:
    """Of two looks, five seconds apart; the second one as the first if nothing is said of it."""
    return ailments(Case(first.look(), (last or first).look(LATER_MS)))


def codes(first: Group, last: Group | None = None) -> list[str]:
    return [ailment.text[1:8] for ailment in found(first, last)]


def test_of_a_group_that_reads_there_is_nothing_to_say() -> None:
    assert found(Group()) == ()


def test_a_second_look_is_taken_where_something_waits_or_moves() -> None:
    assert needs_second_look(Group().look())
    assert not needs_second_look(Group(ends=dict.fromkeys(T, 100)).look())
    assert needs_second_look(
        Group(owners={p: owner("a") for p in T}, ends=dict.fromkeys(T, 100)).look()
    )


def test_an_owner_node_of_nobody_is_named_with_its_path_and_who_may_delete_it() -> None:
    owners = {**Group().owners, T[2]: owner("gone", session=0), T[3]: owner("gone", session=0)}
    (said,) = found(Group(owners=owners))
    assert said.text.startswith("[ZKG-201] t-2, t-3 cannot be claimed: gone-0")
    assert "no session ends" in said.text
    assert "/consumers/g/owners/t/2" in said.remedy
    assert "`zkgroup members evict g gone`" in said.remedy
    assert said.is_ill


def test_a_session_that_is_no_member_is_named() -> None:
    (said,) = found(Group(owners={**Group().owners, T[2]: owner("gone", session=0x4711)}))
    assert said.text.startswith("[ZKG-202] t-2 cannot be claimed: gone-0 owns")
    assert "0x4711" in said.text
    assert "`cons`" in said.remedy
    assert "`stat /consumers/g/owners/t/2`" in said.remedy
    assert "ephemeralOwner is 0x4711" in said.remedy
    assert "within its timeout" in said.remedy
    assert "0x0" in said.remedy
    assert said.text.endswith("for 10 min (since 1970-01-01 02:36:40 UTC)")


def awaited(ago_s: float) -> Group:
    """B shall have two of a's, and a has written nothing since."""
    return Group(
        owners={p: owner("a") for p in T},
        written=dict.fromkeys(T, fresh(ago_s)),
        ends=dict.fromkeys(T, 500),
    )


def test_a_member_that_commits_nothing_while_another_waits_for_it_is_stuck() -> None:
    (said,) = found(awaited(600))
    assert said.text.startswith("[ZKG-203] a is stuck, or in a long batch: it holds 4 partitions")
    assert "1,600 records wait" in said.text
    assert "nothing for 10 min (since 1970-01-01 02:36:40 UTC); b wait(s)" in said.text
    assert "`zkgroup members evict g a`" in said.remedy
    assert said.is_ill


def test_how_long_a_member_may_be_silent() -> None:
    assert codes(awaited(10)) == []
    (soon,) = found(awaited(40))
    assert not soon.is_ill
    # Nobody waits for it: triggers may be minutes apart.
    alone = Group(ids={"a": member()}, owners={p: owner("a") for p in T})
    for ago_s, said in ((200, []), (400, ["ZKG-203"])):
        assert codes(replace(alone, written=dict.fromkeys(T, fresh(ago_s)))) == said


def test_a_member_that_commits_is_not_stuck_however_far_behind() -> None:
    moved = replace(awaited(600), written={**dict.fromkeys(T, fresh(600)), T[0]: fresh(-2)})
    assert codes(awaited(600), moved) == []


def test_what_is_not_claimed_is_named_if_it_stays_so() -> None:
    free = Group(owners={p: o for p, o in Group().owners.items() if p != T[3]})
    (said,) = found(free)
    assert said.text.startswith("[ZKG-204] nobody owns t-3, and b, which shall have them")
    assert "next boundary" in said.remedy
    assert codes(free, Group()) == []
    assert codes(Group(), free) == []


def test_what_a_jvm_member_does_not_claim_may_be_due_to_its_strategy() -> None:
    ids = {"a": member(), "b": member(strategy=None)}
    (said,) = found(Group(ids=ids, owners={p: o for p, o in Group().owners.items() if p != T[3]}))
    assert said.text.startswith("[ZKG-204]")
    assert "partition.assignment.strategy" in said.remedy


def test_members_of_both_kinds_are_told_apart() -> None:
    ids = {"a": member(), "b": member(strategy="sticky", order="")}
    (said,) = found(Group(ids=ids, told=frozenset({"b"}), coordinator=IN_OFFICE))
    assert said.text.startswith("[ZKG-205] a decide for themselves, and b are told")


def test_the_odd_one_is_named_where_members_assign_differently() -> None:
    ids = {"a": member(), "b": member(), "c": member(strategy="roundrobin")}
    (said,) = [s for s in found(Group(ids=ids)) if "ZKG-206" in s.text]
    assert "a, b by range; c by roundrobin (new order)" in said.text
    assert "set those of c," in said.remedy
    (even,) = [s for s in found(Group(ids={"a": ids["a"], "c": ids["c"]})) if "ZKG-206" in s.text]
    assert "set them alike" in even.remedy


def test_by_different_rules_nobody_is_called_a_spare_or_late() -> None:
    """Who shall have what is not known then."""
    ids = {"a": member(), "b": member(), "c": member(strategy="roundrobin")}
    free = {p: o for p, o in Group().owners.items() if p != T[3]}
    assert codes(Group(ids=ids, owners=free)) == ["ZKG-206"]
    wrong = {**ids, "d": member(Subscription.static({"tt": 1}))}
    assert codes(Group(ids=wrong, owners=free)) == ["ZKG-206", "ZKG-209"]


def test_of_members_that_no_rule_fits_nobody_is_called_late() -> None:
    ids = {"a": member(strategy="unheard", order="")}
    free = {p: owner("a") for p in T[:3]}
    (said,) = found(Group(ids=ids, owners=free))
    assert said.text.startswith("who shall own what cannot be said")


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


def test_without_a_coordinator_it_is_told_who_reads_on_who_waits_and_what_nobody_reads() -> None:
    (newcomer,) = found(told("a", "b", "c"))
    assert newcomer.text == (
        "[ZKG-207] nobody is in office as coordinator: 2 members read on with what they hold; "
        "c wait(s) to be told what to read"
    )
    assert "`zkgroup coordinator`" in newcomer.remedy
    (dead,) = found(told("a", owners={T[0]: owner("a"), T[1]: owner("a")}))
    assert dead.text.endswith("1 members read on with what they hold; nobody reads t-2, t-3")
    assert codes(replace(told("a", "b"), coordinator=IN_OFFICE)) == []


def test_a_group_without_members_is_told_if_records_wait() -> None:
    gone = Group(ids={}, owners={})
    (said,) = found(gone)
    assert said.text == "[ZKG-208] the group has no member, and 40 records wait"
    assert codes(replace(gone, ends=dict.fromkeys(T, 100))) == []


@pytest.mark.parametrize(
    ("reads", "text", "remedy"),
    [
        (Subscription.static({"tt": 1}), "there is no topic tt", "did somebody mean t?"),
        (Subscription.white_list("x.*", 1), "no topic fits its white_list 'x.*'", "there are t"),
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
    assert said.text.startswith("[ZKG-209] c owns nothing: its topics have 4 partitions, and the")
    assert "6 threads" in said.text
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
    assert said.text.startswith("[ZKG-209] b owns nothing: range deals each of its 3 topics alone")
    assert "roundrobin in all members" in said.remedy


def test_a_member_whose_registration_nobody_reads_owns_nothing() -> None:
    (said,) = found(Group(ids={**Group().ids, "c": Seen(b"rubbish", 7, NOW_MS)}))
    assert said.text.startswith("[ZKG-209] c owns nothing: its registration cannot be read (")
    assert "/consumers/g/ids/c" in said.remedy


def test_offsets_that_are_gone_under_their_owner_or_among_others() -> None:
    offsets = {p: 100 for p in T if p not in (T[0], T[2])}
    (said,) = found(Group(offsets=offsets))
    assert said.text.startswith("[ZKG-210] t-0, t-2 have no committed offset any more")
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
        "[ZKG-211] the offset nodes of t-1 were made 65 s ago (1970-01-01 02:45:40 UTC), the "
        "others of t 13 min ago (1970-01-01 02:33:20 UTC):"
    )
    assert not said.is_ill
    # The largest number may have been added to the topic by then.
    assert codes(Group(written={T[3]: young})) == []
    jvm = {"a": member(strategy=None), "b": member()}
    assert "ZKG-211" not in codes(Group(ids=jvm, written={T[1]: young}))


def test_an_offset_before_the_log_begins() -> None:
    (said,) = found(Group(starts={**Group().starts, T[1]: 105}))
    assert said.text.startswith("[ZKG-212] the group's offset of t-1 is 100, and its log starts at")
    assert "5 records were deleted" in said.text
    assert "`zkgroup offsets reset g --topic t:1 --to-earliest --execute`" in said.remedy


def test_an_offset_beyond_the_log() -> None:
    short = Group(ends={**Group().ends, T[1]: 90})
    (said,) = found(short)
    assert said.text.startswith("[ZKG-213] the group's offset of t-1 is 100, beyond the end")
    # A commit may come between reading the offset and asking for the end.
    assert codes(short, Group()) == []


def lagging(end: int, later: int) -> tuple[Group, Group]:
    first = Group(ends={**Group().ends, T[1]: end})
    moved = dict.fromkeys(T, 130)
    last = Group(offsets=moved, ends={**dict.fromkeys(T, 140), T[1]: later}, written={})
    return first, last


def test_a_hot_partition_and_a_slow_reader_are_told_apart() -> None:
    (hot,) = found(*lagging(5000, 6000))
    assert hot.text == (
        "[ZKG-214] t-1, read by a, lag by 5,870 records, the other 3 partitions 10 each; "
        "in 5 s 1,000 came and 30 were committed: it grows"
    )
    assert "hot partition" in hot.remedy
    (slow,) = found(*lagging(5000, 5030))
    assert slow.text.endswith("30 came and 30 were committed: it stays")
    assert "a is slow" in slow.remedy
    for said in (hot, slow):
        assert "To wait does not help" in said.remedy
        for each in ("see in its log", "maxOffsetsPerTrigger", "`threads`", "one more member"):
            assert each in said.remedy


def test_a_lag_that_shrinks_is_waited_for_with_the_time_that_it_takes() -> None:
    (said,) = found(*lagging(5000, 5010))
    assert said.text.endswith("in 5 s 10 came and 30 were committed: it shrinks")
    # 4,880 records by 20 in 5 s.
    assert "at this pace it takes 20 min more, so wait" in said.remedy
    assert "If it does not fall any more, see in its log" in said.remedy


def test_of_a_lag_whose_reader_commits_nothing_the_last_time_is_told() -> None:
    first = Group(ends={**Group().ends, T[1]: 5000}, written=dict.fromkeys(T, fresh(50)))
    (said,) = found(first, replace(first, ends={**Group().ends, T[1]: 5010}))
    assert said.text.endswith(
        "in 5 s 10 came and 0 were committed, the last ones 55 s ago (1970-01-01 02:45:50 UTC)"
    )
    assert "its batch is stuck" in said.remedy


def test_a_lag_seen_once_is_called_neither_hot_nor_slow() -> None:
    look = Group(ends={**Group().ends, T[1]: 5000}).look()
    (said,) = ailments(Case(look, look))
    assert said.text.endswith("`zkgroup lag g --watch` shows whether it grows")
    assert said.remedy.startswith("If it does not fall, a is slow, or a partition hot: see in its")


def test_a_lag_that_nobody_reads_is_no_slow_reader() -> None:
    old = TopicPartition("old", 0)
    group = Group(offsets={**Group().offsets, old: 0}, ends={**Group().ends, old: 9000})
    (said,) = found(group)
    assert "old-0, read by nobody, lag by 9,000" in said.text
    assert said.remedy.startswith("No member reads old any more, or yet: start one")


def test_all_lagging_partitions_of_a_member_are_named_with_the_worst() -> None:
    parts = [TopicPartition("t", n) for n in range(12)]
    ends = {**dict.fromkeys(parts, 110), parts[0]: 9000, parts[1]: 60_000, parts[2]: 1500}
    group = Group(
        topics={"t": tuple(range(12))},
        owners=dict(zip(parts, map(owner, "aaaaaabbbbbb"), strict=True)),
        offsets=dict.fromkeys(parts, 100),
        written=dict.fromkeys(parts, fresh()),
        ends=ends,
        starts={},
    )
    (said,) = found(group)
    assert said.text.startswith(
        "[ZKG-214] t-1, t-0, read by a, lag by 68,800 records (2 partitions, t-1 by 59,900 the "
        "worst), and 1 more of its partitions, t-2 by 1,400 the worst, the other 9 partitions 10 "
        "each; in 5 s"
    )


def test_what_a_hot_partition_holds_up_beside_it_is_not_blamed() -> None:
    ends = {**Group().ends, T[0]: 1400, T[1]: 60_000}
    (said,) = found(Group(ends=ends))
    assert said.text.startswith("[ZKG-214] t-1, read by a, lag by 59,900 records")
    assert said.partitions == {T[1]}


def test_a_lag_that_all_have_or_that_is_small_is_not_named() -> None:
    assert codes(Group(ends=dict.fromkeys(T, 50_000))) == []
    assert codes(Group(ends={**Group().ends, T[1]: 1000})) == []


def test_a_lag_that_something_else_explains_is_not_named_again() -> None:
    owners = {**Group().owners, T[1]: owner("gone", session=0)}
    assert codes(Group(owners=owners, ends={**Group().ends, T[1]: 9000})) == ["ZKG-201"]


def test_notes_of_the_report_that_are_no_faults_are_passed_on() -> None:
    jvms = {"a": member(strategy=None), "b": member(strategy=None)}
    (said,) = found(Group(ids=jvms))
    assert "range is assumed" in said.text
    assert not said.is_ill
