"""Groups that the brokers coordinate, as the reports and the list of groups show them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.inspect.brokered import REBALANCING, BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.rows import Waiting
from pyspark_zkgroup.inspect.summary import GroupSummary, lag_of, live_first, of_brokered
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

T = [TopicPartition("orders", n) for n in range(4)]
TOPICS = {"orders": (0, 1, 2, 3), "other": (0,)}
OFFSETS = {p: StoredOffset(10) for p in T}


def member(name: str, *numbers: int, target: tuple[int, ...] | None = None) -> BrokeredMember:
    wanted = None if target is None else frozenset(T[n] for n in target)
    own = frozenset(T[n] for n in numbers)
    return BrokeredMember(name, "app", "/10.0.0.1", None, ("orders",), assigned=own, target=wanted)


def states(facts: BrokeredFacts) -> list[str]:
    return [row.state for row in brokered_report(facts, {}).partitions]


def test_a_stable_classic_group_shows_owners_free_partitions_and_lag() -> None:
    group = BrokeredGroup("billing", "classic", "Stable", "range", None, (member("a-b-c", 0, 1),))
    seen = brokered_report(BrokeredFacts(group, OFFSETS, TOPICS), {T[0]: 25, T[1]: 10})
    assert [(r.partition, r.state, r.owner, r.lag) for r in seen.partitions] == [
        (T[0], "owned", "a-b-c", 15),
        (T[1], "owned", "a-b-c", 0),
        (T[2], "free", None, None),
        (T[3], "free", None, None),
    ]
    assert [(m.consumer, m.kind, m.owns, m.host) for m in seen.members] == [
        ("a-b-c", "consumer", 2, "/10.0.0.1")
    ]


def test_the_owner_of_a_partition_is_the_whole_id_of_its_member() -> None:
    group = BrokeredGroup("billing", "classic", "Stable", members=(member("app-1f-2e", 0),))
    (row, *_) = brokered_report(BrokeredFacts(group, {}, TOPICS), {}).partitions
    assert row.member == row.owner == row.wanted_member == "app-1f-2e"


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_owners_are_unknown_while_a_classic_group_rebalances(state: str) -> None:
    group = BrokeredGroup("billing", "classic", state, members=(BrokeredMember("a"),))
    seen = brokered_report(BrokeredFacts(group, OFFSETS, TOPICS), {})
    assert {(r.state, r.owner, r.undecided) for r in seen.partitions} == {
        ("moving", None, REBALANCING)
    }
    assert seen.members[0].waiting is None
    assert "is rebalancing" in seen.notes[0]


def test_targets_of_the_consumer_protocol_show_moves_and_waiting_members() -> None:
    old, new = member("old", 0, 1, 2, target=(0, 1)), member("new", target=(2, 3))
    group = BrokeredGroup("billing", "consumer", "Reconciling", "uniform", 7, (old, new))
    seen = brokered_report(BrokeredFacts(group, OFFSETS, TOPICS), {})
    assert [(r.state, r.owner, r.wanted_by) for r in seen.partitions] == [
        ("owned", "old", "old"),
        ("owned", "old", "old"),
        ("moving", "old", "new"),
        ("free", None, "new"),
    ]
    assert [m.waiting for m in seen.members] == [(), (Waiting(T[2], "old", by_member=True),)]


def test_partitions_are_those_of_subscriptions_offsets_and_assignments() -> None:
    gone = TopicPartition("gone", 0)
    away = replace(member("a", 0, target=(2,)), topics=())
    group = BrokeredGroup("billing", "consumer", "Reconciling", "uniform", 7, (away,))
    assert BrokeredFacts(group, {gone: StoredOffset(1)}, TOPICS).partitions == (gone, T[0], T[2])
    reader = replace(away, topics=("other",))
    facts = BrokeredFacts(replace(group, members=(reader,)), {}, TOPICS)
    assert facts.partitions == (T[0], T[2], TopicPartition("other", 0))


def test_an_empty_group_has_no_reader() -> None:
    assert set(states(BrokeredFacts(BrokeredGroup("b", state="Empty"), OFFSETS, TOPICS))) == {
        "unread"
    }


def test_classic_members_of_a_consumer_group_are_noted() -> None:
    members = (replace(member("a", target=()), is_classic=True), member("b", target=()))
    group = BrokeredGroup("billing", "consumer", "Stable", members=members)
    (note,) = brokered_report(BrokeredFacts(group, {}, TOPICS), {}).notes
    assert note.startswith("1 of 2 members still use the classic protocol")


def test_a_group_that_brokers_do_not_know_is_not_there() -> None:
    assert not BrokeredFacts(BrokeredGroup("nothing"), {}, TOPICS).is_there
    assert BrokeredFacts(BrokeredGroup("kept", state="Empty"), {}, TOPICS).is_there


def test_live_groups_are_listed_first_with_their_lag() -> None:
    live = of_brokered(BrokeredGroup("z", "classic", "Stable", members=(member("a", 0),)), OFFSETS)
    idle = of_brokered(BrokeredGroup("a", "consumer", "Empty"), OFFSETS)
    assert live_first([idle, live]) == [live, idle]
    assert (live.protocol, idle.protocol) == ("kafka", "kafka (KIP-848)")
    assert lag_of(live, {T[0]: 15, T[1]: 9, T[2]: 10}) == 5
    assert lag_of(live, {}) is None


def test_shares_are_not_counted_while_a_coordinator_does_not_tell_them() -> None:
    joining = BrokeredGroup("b", "classic", "PreparingRebalance", members=(BrokeredMember("a"),))
    assert of_brokered(joining, {}) == GroupSummary("b", "kafka", 1, None, 0, {})
