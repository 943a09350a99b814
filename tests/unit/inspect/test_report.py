"""The report of a group from its nodes: states, lags, and strategies that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.inspect.report import GroupFacts, Seen, report, stuck, topics_read
from pyspark_zkgroup.inspect.rows import GroupReport, Waiting
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy, encode_candidacy
from pyspark_zkgroup.protocols.coordinator.rules.command_json import encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import Assigned, Command, Start, Stop
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation

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


def test_a_partition_owned_by_its_assigned_member() -> None:
    found = seen(owners={T0: owner("a"), T1: owner("b")})
    assert states(found) == {T0: "owned", T1: "owned"}
    assert [m.owns for m in found.members] == [1, 1]
    assert found.partitions[0].since_ms == 2000
    assert not found.notes


def test_the_order_of_threads_is_shown_where_it_decides() -> None:
    ids = {s: member(s) for s in ("range", "roundrobin")} | {"jvm": member(None, None)}
    assert {m.consumer: (m.strategy, m.order) for m in seen(ids=ids).members} == {
        "range": ("range", None),
        "roundrobin": ("roundrobin", "new"),
        "jvm": (None, None),
    }


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


def test_a_partition_with_an_unregistered_or_malformed_owner_is_stuck() -> None:
    rubbish = Seen(b"\xff", 0, 1)
    facts = GroupFacts("g", {"a": member()}, owners={T0: owner("a"), T1: rubbish})
    assert stuck(facts) == {T1}
    assert stuck(replace(facts, owners={T0: owner("gone")})) == {T0}


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


def test_a_malformed_offset_node_is_named() -> None:
    found = seen(offsets={T0: b"ten"})
    assert found.partitions[0].trouble == "its offset node holds b'ten', which is no offset"


def test_an_unreadable_registration_is_shown_with_its_trouble() -> None:
    found = seen(ids={"a": member(), "bad": Seen(b"rubbish", 8, 1)})
    assert [m.kind for m in found.members] == ["zkgroup", "unreadable"]
    assert "/consumers/g/ids/bad" in (found.members[1].trouble or "")


def test_members_that_assign_differently_are_named() -> None:
    found = seen(ids={"a": member(), "b": member("roundrobin"), "c": member("roundrobin")})
    assert "range (new) by 1, roundrobin (new) by 2" in found.notes[0]


def test_with_different_strategies_the_assignment_is_unknown() -> None:
    """Neither rule counts, also where one has more members."""
    ids = {"a": member(), "b": member(), "c": member("roundrobin")}
    found = seen(ids=ids, topics={"t": (0, 1, 2)}, owners={T0: owner("b"), T1: owner("gone")})
    reason = "unknown: members assign by different rules"
    assert [(row.state, row.wanted_by, row.undecided) for row in found.partitions] == [
        ("owned", None, reason),
        ("stuck", None, reason),
        ("free", None, reason),
    ]
    assert [m.waiting for m in found.members] == [None] * 3


def test_what_members_of_different_rules_do_not_read_stays_unread() -> None:
    old = TopicPartition("old", 0)
    found = seen(ids={"a": member(), "b": member("roundrobin")}, offsets={old: b"5"})
    assert (states(found)[old], found.partitions[0].undecided) == ("unread", None)


def test_members_that_no_rule_fits_leave_all_undecided() -> None:
    two = Registration(Subscription.static({"t": 2}), "1", "sticky", "")
    wrong = Seen(encode_registration(replace(two, strategy="unheard")), 7, 1000)
    found = seen(ids={"a": wrong}, owners={T0: owner("a")})
    assert [(row.state, row.undecided) for row in found.partitions] == [
        ("owned", "unknown: its members cannot be assigned together"),
        ("free", "unknown: its members cannot be assigned together"),
    ]


def test_range_is_assumed_for_jvm_members_alone_with_a_remark() -> None:
    found = seen(ids={"j": member(None, None)})
    assert found.members[0].kind == "jvm"
    assert "range is assumed" in found.notes[0]
    assert found.partitions[1].wanted_by == "j-0"


def test_the_topics_of_a_group_are_those_read_now_or_before() -> None:
    facts = GroupFacts(
        "g", {"a": member()}, {"t": (0,), "other": (0,)}, {}, {TopicPartition("old", 3): b"1"}
    )
    assert topics_read(facts) == {"t", "old"}


def told(life: int = 3, generation: str | None = None) -> Seen:
    seat = None if generation is None else LightSeat("one", 3000, generation)
    made = Registration(Subscription.static({"t": 1}), "1", "sticky", light=seat)
    return Seen(encode_registration(made), 0 if seat else 7, 1000, life)


def channel(*commands: Command) -> dict[str, bytes]:
    return {f"/channel/{n}": encode(command) for n, command in enumerate(commands)}


IN_OFFICE = Seen(encode_candidacy(Candidacy("one", "h:1")), 5, 3000, life=90)


def coordinated(ids: dict[str, Seen], **facts: object) -> GroupReport:
    return seen(ids=ids, told=frozenset(ids), **{"coordinator": IN_OFFICE, **facts})  # type: ignore[arg-type]


def test_of_members_that_decide_for_themselves_there_is_no_coordinator_and_no_generation() -> None:
    found = seen(owners={T0: owner("a"), T1: owner("b")})
    assert (found.protocol, found.coordinator, found.generation) == ("zookeeper", None, None)
    assert [(m.protocol, m.generation, m.unanswered) for m in found.members] == [
        ("zookeeper", None, None)
    ] * 2


def test_without_members_no_protocol_is_guessed() -> None:
    assert seen(ids={}, offsets={T0: b"5"}).protocol is None


def test_the_coordinator_in_office_and_the_newest_decision_that_is_to_be_seen() -> None:
    stop = Stop(Generation(90, 4), 3, frozenset({T0}))
    start = Start(Generation(90, 5), 3, {T1: Assigned(0)}, {"t": (0, 1)})
    late = Stop(Generation(99, 9), 2, frozenset({T1}))
    found = coordinated(
        {"a": told(), "b": told(), "c": told(generation="90.3")},
        commands={"a": channel(late, stop, start)},
    )
    assert found.coordinator is not None
    at = found.coordinator
    assert (at.name, at.address, at.epoch, at.since_ms) == ("one", "h:1", 90, 3000)
    assert (found.protocol, str(found.generation)) == ("coordinator", "90.5")
    assert [(m.protocol, str(m.generation), m.unanswered) for m in found.members] == [
        ("coordinator", "90.5", 2),
        ("coordinator", "None", 0),
        ("light", "90.3", None),
    ]
    assert not found.notes


def test_a_partition_assigned_to_a_member_is_wanted_by_it() -> None:
    start = Start(Generation(90, 5), 3, {T0: Assigned(0)}, {"t": (0, 1)})
    found = coordinated({"a": told(), "b": told()}, commands={"b": channel(start)})
    assert [row.wanted_by for row in found.partitions] == ["b-0", "a-0"]


def test_a_partition_that_a_member_must_release_is_wanted_by_another() -> None:
    stop = Stop(Generation(90, 5), 3, frozenset({T0}))
    given: dict[str, object] = {"owners": {T0: owner("a"), T1: owner("a")}}
    found = coordinated({"a": told(), "b": told()}, commands={"a": channel(stop)}, **given)
    assert [(row.state, row.wanted_by) for row in found.partitions] == [
        ("moving", "b-0"),
        ("owned", "a-0"),
    ]
    assert [m.waiting for m in found.members] == [(), (Waiting(T0, "a-0"),)]


def test_a_command_that_cannot_be_read_is_named() -> None:
    found = coordinated({"a": told()}, commands={"a": {"/channel/7": b"rubbish"}})
    assert found.members[0].unanswered == 0
    assert "/channel/7 holds no valid command" in found.notes[0]


def test_a_missing_coordinator_is_reported() -> None:
    found = coordinated({"a": told()}, coordinator=None)
    assert found.coordinator is None
    assert "no coordinator is in office" in found.notes[0]


def test_without_a_coordinator_only_earlier_assignments_are_wanted() -> None:
    two, three = TopicPartition("t", 2), TopicPartition("t", 3)
    stop = Stop(Generation(90, 4), 3, frozenset({T0}))
    start = Start(Generation(90, 5), 3, {two: Assigned(0)}, {"t": (0, 1, 2, 3)})
    found = coordinated(
        {"a": told(), "b": told()},
        coordinator=None,
        topics={"t": (0, 1, 2, 3)},
        owners={T0: owner("a"), T1: owner("a")},
        commands={"a": channel(stop), "b": channel(start)},
    )
    nobody = "none: no coordinator is in office"
    rows = {row.partition: (row.state, row.wanted_by, row.undecided) for row in found.partitions}
    assert rows[T0] == ("moving", None, nobody)
    assert rows[T1] == ("owned", "a-0", None)
    assert rows[two] == ("free", "b-0", None)
    assert rows[three] == ("free", None, nobody)


def test_a_node_that_names_no_coordinator_is_reported() -> None:
    found = coordinated({"a": told()}, coordinator=Seen(b"rubbish", 5, 3000, 90))
    assert found.coordinator is not None
    assert (found.coordinator.name, found.coordinator.epoch) == (None, 90)
    assert "/consumers/coordinator names no coordinator" in found.notes[0]


def test_light_members_under_a_coordinator_that_serves_none_are_named() -> None:
    deaf = Seen(encode_candidacy(Candidacy("driver")), 5, 3000, 90)
    found = coordinated({"a": told(), "c": told(generation="80.3")}, coordinator=deaf)
    assert "coordinator driver serves no light members, and c need" in found.notes[0]


def test_members_of_both_registries_are_a_fault_that_is_named() -> None:
    found = seen(ids={"a": member(), "b": told()}, told=frozenset({"b"}), coordinator=IN_OFFICE)
    assert found.protocol == "both"
    assert [m.protocol for m in found.members] == ["zookeeper", "coordinator"]
    assert [m.waiting for m in found.members] == [None, None]
    (note,) = found.notes
    assert note.startswith("a decide for themselves, but b wait for a coordinator")
    assert "stop the members of one kind" in note


def test_an_unreadable_member_of_a_coordinator_is_named_by_its_path() -> None:
    found = coordinated({"bad": Seen(b"rubbish", 8, 1)})
    assert found.members[0].protocol is None
    assert "/consumers/groups/g/ids/bad" in (found.members[0].trouble or "")


def test_a_member_waits_for_assigned_partitions_that_another_owns() -> None:
    found = seen(owners={T0: owner("gone"), T1: owner("a")})
    assert [m.waiting for m in found.members] == [
        (Waiting(T0, "gone-0"),),
        (Waiting(T1, "a-0"),),
    ]


def test_no_member_waits_for_free_partitions_or_its_own() -> None:
    assert [m.waiting for m in seen(owners={T0: owner("a")}).members] == [(), ()]


def test_waiting_members_are_unknown_if_the_strategy_is() -> None:
    jvms = seen(ids={"j": member(None, None)}, owners={T0: owner("gone")})
    differing = seen(ids={"a": member(), "b": member("roundrobin")}, owners={T0: owner("gone")})
    for found in (jvms, differing):
        assert [m.waiting for m in found.members] == [None] * len(found.members)


def test_a_note_says_that_rows_may_be_of_different_moments() -> None:
    assert "of different moments" in seen(stirred=True).notes[0]
