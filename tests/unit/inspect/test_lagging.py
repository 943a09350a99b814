"""What `doctor` says of partitions that are far behind, and of what reads them."""

from __future__ import annotations

from dataclasses import replace

from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.findings import Case, Look, group_findings
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition
from tests.unit.inspect.faulty_group import (
    LATER_MS,
    NOW_MS,
    Group,
    T,
    codes,
    found,
    fresh,
    owner,
)


def lagging(end: int, later: int) -> tuple[Group, Group]:
    first = Group(ends={**Group().ends, T[1]: end})
    moved = dict.fromkeys(T, 130)
    last = Group(offsets=moved, ends={**dict.fromkeys(T, 140), T[1]: later}, written={})
    return first, last


def test_a_hot_partition_and_a_slow_reader_are_distinguished() -> None:
    (hot,) = found(*lagging(5000, 6000))
    assert hot.text == (
        "[ZKG-214] t-1, read by a, lag by 5,870 records; the other 3 partitions lag by 10 "
        "each; in 5 s 1,000 arrived and 30 were committed: the lag grows"
    )
    assert "hot partition" in hot.remedy
    assert "To let a read more, check in its log" in hot.remedy
    (slow,) = found(*lagging(5000, 5030))
    assert slow.text.endswith("30 arrived and 30 were committed: the lag is constant")
    assert "a is slow" in slow.remedy
    for said in (hot, slow):
        assert "Waiting does not help" in said.remedy
        for each in ("check in its log", "maxOffsetsPerTrigger", "`threads`", "a member"):
            assert each in said.remedy
        assert "maxBytesPerTrigger) if larger batches take no longer" in said.remedy
        assert "run `zkgroup members drain g a`" in said.remedy


def test_a_partition_is_hot_if_more_arrives_than_usual_in_the_others() -> None:
    """Those without any records count as well."""
    for arrived, said in ((4, "a is slow"), (5, "hot partition")):
        offsets = {T[0]: 0, T[1]: 100, T[2]: 100}
        first = Group(
            topics={"t": (0, 1, 2)},
            owners={p: owner("a") for p in offsets},
            offsets=offsets,
            ends={T[0]: 0, T[1]: 5000, T[2]: 110},
        )
        last = replace(
            first,
            offsets={**offsets, T[1]: 101, T[2]: 103},
            ends={T[0]: 0, T[1]: 5000 + arrived, T[2]: 113},
        )
        (finding,) = found(first, last)
        assert said in finding.remedy


def test_of_a_reader_of_one_partition_no_more_threads_are_asked_for() -> None:
    first, last = lagging(5000, 5030)
    owners = {**dict.fromkeys(T, owner("b")), T[1]: owner("a")}
    (slow,) = found(replace(first, owners=owners), replace(last, owners=owners))
    assert "threads" not in slow.remedy
    assert "minPartitions" in slow.remedy


def test_a_jvm_reader_is_asked_for_nothing_that_it_does_not_have() -> None:
    look = Group(ends={**Group().ends, T[1]: 5000}).look()
    kinds = tuple(replace(member, kind="jvm") for member in look.seen.members)
    look = replace(look, seen=replace(look.seen, members=kinds))
    (said,) = (a for a in group_findings(Case(look, look)) if a.thing == "lag")
    for each in ("minPartitions", "PerTrigger", "drain"):
        assert each not in said.remedy


def test_a_lag_that_shrinks_is_waited_for_with_the_time_that_it_takes() -> None:
    (said,) = found(*lagging(5000, 5010))
    assert said.text.endswith("in 5 s 10 arrived and 30 were committed: the lag shrinks")
    # 4,880 records by 20 in 5 s.
    assert "in about 20 min at this pace" in said.remedy
    assert "If the lag stops falling, check in its log" in said.remedy


def test_one_commit_of_a_long_batch_is_no_sign_that_a_lag_shrinks() -> None:
    """A batch of 21 s was committed within the 5 s: 600 records in 21 s, while 310 came in 5 s."""
    first = Group(ends={**Group().ends, T[1]: 5000}, written=dict.fromkeys(T, fresh(20)))
    last = replace(
        first,
        offsets={**first.offsets, T[1]: 700},
        ends={**first.ends, T[1]: 5310},
        written={**first.written, T[1]: fresh(-1)},
    )
    (said,) = found(first, last)
    assert said.text.endswith(
        "in 5 s 310 arrived and 600 were committed (after 21 s without a commit): the lag grows"
    )
    assert "Wait:" not in said.remedy


def test_the_first_commit_of_a_partition_counts_from_offset_0() -> None:
    first, last = lagging(5000, 5010)
    (said,) = found(replace(first, offsets={**first.offsets, T[1]: 0}), last)
    assert said.text.endswith("in 5 s 10 arrived and 130 were committed: the lag shrinks")


def test_without_times_of_commits_a_shrinking_lag_has_a_condition() -> None:
    """The brokers tell no times of commits."""
    behind, members = (T[1],), (BrokeredMember("a", "c", "/h", None, ("t",), "", frozenset(T)),)
    group = BrokeredGroup("g", "classic", "Stable", "range", None, members)
    looks = []
    for at_ms, offset in ((NOW_MS, 100), (LATER_MS, 700)):
        kept = {p: StoredOffset(offset if p in behind else 100) for p in T}
        facts = BrokeredFacts(group, kept, {"t": (0, 1, 2, 3)})
        seen = brokered_report(facts, {p: 5000 if p in behind else 110 for p in T})
        looks.append(Look(GroupFacts("g", {}, facts.topics, {}, {}), seen, {}, at_ms))
    said = [f for f in group_findings(Case(looks[0], looks[1])) if "ZKG-214" in f.text]
    assert "at this pace, if its batches take less than 5 s." in said[0].remedy


def test_the_time_that_a_lag_takes_is_its_records_by_the_pace() -> None:
    """119.95 s are shown as seconds, 120 s as minutes."""
    for lag, left in ((119_950, "120 s"), (120_000, "2 min")):
        first = Group(ends={**Group().ends, T[1]: 100 + lag + 5000})
        last = replace(first, offsets={**first.offsets, T[1]: 5100}, ends=first.ends)
        (said,) = found(first, last)
        assert f"in about {left} at this pace" in said.remedy
        assert "These partitions receive no more records than the others" in said.remedy
    hot = {**first.ends, T[1]: first.ends[T[1]] + 4000}
    (said,) = found(first, replace(last, ends=hot))
    assert "These partitions receive more records than the others" in said.remedy


def test_a_lag_whose_reader_commits_nothing_shows_its_last_commit() -> None:
    first = Group(ends={**Group().ends, T[1]: 5000}, written=dict.fromkeys(T, fresh(50)))
    (said,) = found(first, replace(first, ends={**Group().ends, T[1]: 5010}))
    assert said.text.endswith(
        "in 5 s 10 arrived and 0 were committed, the last 55 s ago (1970-01-01 02:45:50 UTC)"
    )
    assert "Look for longer than a batch takes (--watch-seconds 60)" in said.remedy
    assert "the batch is stuck" in said.remedy


def test_a_lag_seen_once_is_called_neither_hot_nor_slow() -> None:
    look = Group(ends={**Group().ends, T[1]: 5000}).look()
    (said,) = group_findings(Case(look, look))
    assert said.text.endswith("run `zkgroup lag g --watch` to see whether it grows")
    assert said.remedy.startswith("If the lag does not fall, a is slow or the partition is hot: ")


def test_a_lag_without_a_reader_is_not_a_slow_reader() -> None:
    old = TopicPartition("old", 0)
    group = Group(offsets={**Group().offsets, old: 0}, ends={**Group().ends, old: 9000})
    (said,) = found(group)
    assert "old-0, read by no member, lag by 9,000" in said.text
    assert said.remedy.startswith("Start a member that subscribes to old")


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
        "[ZKG-214] t-1, t-0, read by a, lag by 68,800 records (2 partitions, the largest lag is "
        "t-1 with 59,900); 1 more of its partitions lag, at most t-2 with 1,400; the other 9 "
        "partitions lag by 10 each; in 5 s"
    )


def test_a_partition_next_to_a_hot_one_is_not_blamed() -> None:
    ends = {**Group().ends, T[0]: 1400, T[1]: 60_000}
    (said,) = found(Group(ends=ends))
    assert said.text.startswith("[ZKG-214] t-1, read by a, lag by 59,900 records")
    assert said.partitions == {T[1]}


def test_a_lag_that_all_have_or_that_is_small_is_not_named() -> None:
    assert codes(Group(ends=dict.fromkeys(T, 50_000))) == []
    assert codes(Group(ends={**Group().ends, T[1]: 1000})) == []


def test_a_lag_is_far_from_ten_times_the_median_of_the_others() -> None:
    for behind, expected in ((1499, []), (1500, ["ZKG-214"])):
        group = Group(
            topics={"t": (0, 1, 2)},
            owners=dict(zip(T[:3], map(owner, "aab"), strict=True)),
            offsets=dict.fromkeys(T[:3], 100),
            ends={T[0]: 100, T[1]: 100 + behind, T[2]: 400},
        )
        assert codes(group) == expected


def test_a_lag_that_something_else_explains_is_not_named_again() -> None:
    owners = {**Group().owners, T[1]: owner("gone", session=0)}
    assert codes(Group(owners=owners, ends={**Group().ends, T[1]: 9000})) == ["ZKG-201"]
