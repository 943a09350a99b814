"""The judge of what came twice and what is missing, on runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.duplicates import committed_at, duplicates, lacking, size, united
from tests.chaos.values import FOREVER, Batch, Fault, Read

P = TopicPartition("t", 0)


def batch(member: str, number: int, began: float, committed: float = FOREVER) -> Batch:
    return Batch(member, number, began, began + 1.0, committed)


def fault(at: float, *members: str, hard: bool = True, **more: object) -> Fault:
    return Fault(1, "driver killed", "", at, at, members, hard=hard, **more)  # type: ignore[arg-type]


def test_a_batch_in_flight_at_a_kill_of_its_member_is_explained() -> None:
    killed, again = batch("a", 7, 10.0), batch("b", 3, 25.0, 30.0)
    found = duplicates([Read(P, 0, 100, killed), Read(P, 0, 150, again)], [fault(11.5, "a")])
    assert [(d.start, d.until, d.count, d.extra) for d in found] == [(0, 100, 100, 1)]
    assert found[0].explained
    assert found[0].faults[0][0] == killed


def test_a_fault_of_another_member_explains_nothing() -> None:
    reads = [Read(P, 0, 100, batch("a", 7, 10.0)), Read(P, 0, 100, batch("b", 3, 25.0, 30.0))]
    assert not duplicates(reads, [fault(11.5, "c")])[0].explained


def test_a_fault_that_is_not_hard_explains_nothing() -> None:
    reads = [Read(P, 0, 100, batch("a", 7, 10.0)), Read(P, 0, 100, batch("b", 3, 25.0, 30.0))]
    assert not duplicates(reads, [fault(11.5, "a", hard=False)])[0].explained


def test_a_fault_after_the_batch_was_committed_explains_nothing() -> None:
    reads = [Read(P, 0, 9, batch("a", 7, 10.0, 12.0)), Read(P, 0, 9, batch("b", 3, 25.0, 30.0))]
    assert not duplicates(reads, [fault(12.5, "a")])[0].explained
    assert duplicates(reads, [fault(11.5, "a")])[0].explained


def test_a_fault_before_the_batch_began_explains_nothing() -> None:
    reads = [Read(P, 0, 9, batch("a", 7, 10.0)), Read(P, 0, 9, batch("b", 3, 25.0, 30.0))]
    assert not duplicates(reads, [fault(9.0, "a")])[0].explained


@pytest.mark.parametrize(("stops_jvm", "explained"), [(True, True), (False, False)])
def test_a_plan_that_waited_in_a_stopped_jvm_is_explained_by_the_stop(
    stops_jvm: bool, explained: bool
) -> None:
    """The planner answers, the JVM stops before it logs the plan, the member gives up, its
    successor reads; the JVM continues, logs the plan and reads the same. A planner that is stopped
    alone makes its plan later, or not at all.
    """
    asked = replace(batch("a", 7, 60.8), asked=24.0)
    pause = Fault(1, "paused", "a", 25.0, 60.75, ("a",), hard=True, stops_jvm=stops_jvm)
    reads = [Read(P, 0, 9, asked), Read(P, 0, 9, batch("b", 3, 58.0, 60.0))]
    assert duplicates(reads, [pause])[0].explained is explained
    late = replace(batch("a", 7, 60.8), asked=60.78)
    assert not duplicates([Read(P, 0, 9, late), reads[1]], [pause])[0].explained


def test_a_zombie_that_delivers_after_its_successor_is_the_one_explained() -> None:
    """a is paused in mid-batch beyond its session, b takes over and reads, a wakes up and ends its
    batch.
    """
    zombie, successor = Batch("a", 7, 10.0, 40.0, FOREVER), batch("b", 3, 25.0, 30.0)
    paused = Fault(1, "planner paused", "a", 11.0, 38.0, ("a",), hard=True)
    found = duplicates([Read(P, 0, 9, zombie), Read(P, 0, 9, successor)], [paused])
    assert found[0].explained
    assert found[0].faults == ((zombie, paused),)
    assert found[0].reads == (successor, zombie)


def test_of_three_deliveries_two_must_be_explained() -> None:
    reads = [Read(P, 0, 9, batch(m, 1, at)) for m, at in (("a", 10.0), ("b", 25.0), ("c", 50.0))]
    assert not duplicates(reads, [fault(10.5, "a")])[0].explained
    assert duplicates(reads, [fault(10.5, "a"), fault(25.5, "b")])[0].explained


def test_a_fault_of_named_batches_explains_no_other() -> None:
    reads = [Read(P, 0, 9, batch("a", 7, 10.0)), Read(P, 0, 9, batch("b", 3, 25.0, 30.0))]
    assert duplicates(reads, [fault(11.0, "a", batches=(("a", 7),))])[0].explained
    assert not duplicates(reads, [fault(11.0, "a", batches=(("a", 6), ("b", 7)))])[0].explained


def test_an_injected_fault_is_named_before_one_that_was_only_noted() -> None:
    reads = [Read(P, 0, 9, batch("a", 7, 10.0)), Read(P, 0, 9, batch("b", 3, 25.0, 30.0))]
    noted, made = fault(10.5, "a", injected=False), fault(11.5, "a")
    assert duplicates(reads, [noted, made])[0].faults[0][1] == made


def test_overlaps_are_cut_where_their_deliveries_change() -> None:
    one, two, three = batch("a", 1, 1.0), batch("a", 2, 2.0), batch("b", 1, 3.0)
    found = duplicates([Read(P, 0, 10, one), Read(P, 10, 20, two), Read(P, 5, 15, three)], [])
    assert [(d.start, d.until, [r.member + str(r.number) for r in d.reads]) for d in found] == [
        (5, 10, ["a1", "b1"]),
        (10, 15, ["a2", "b1"]),
    ]


def test_the_same_records_twice_within_one_batch_are_found() -> None:
    one = batch("a", 1, 1.0)
    assert duplicates([Read(P, 0, 10, one), Read(P, 4, 6, one)], [])[0].count == 2


def test_ranges_are_united_and_compared() -> None:
    assert united([(5, 8), (0, 5), (10, 12), (11, 11)]) == [(0, 8), (10, 12)]
    wanted = {P: [(0, 20)], TopicPartition("t", 1): [(0, 5)]}
    assert lacking(wanted, {P: [(3, 5), (5, 9), (15, 30)]}) == {
        P: [(0, 3), (9, 15)],
        TopicPartition("t", 1): [(0, 5)],
    }
    assert size(lacking(wanted, {P: [(0, 20)], TopicPartition("t", 1): [(0, 9)]})) == 0


def test_a_batch_is_committed_when_the_next_one_begins_or_its_member_has_drained() -> None:
    begun = [(7, 10.0), (8, 13.0), (9, 15.0)]
    assert committed_at(7, 10.0, begun, []) == 13.0
    assert committed_at(9, 15.0, begun, []) == FOREVER
    assert committed_at(9, 15.0, begun, [4.0, 17.0]) == 17.0


def test_a_batch_that_begins_while_no_commit_is_answered_does_not_commit_the_one_before() -> None:
    """The coordinator of the group dies, the commit of batch 7 gets no answer, batch 8 is planned
    under the lease, the driver dies: the successor reads both.
    """
    begun = [(7, 10.0), (8, 13.0), (9, 15.0)]
    assert committed_at(7, 10.0, begun, [], [(12.0, 14.0)]) == 15.0
    assert committed_at(7, 10.0, begun, [], [(12.0, 16.0)]) == FOREVER
    assert committed_at(7, 10.0, begun, [], [(13.5, 14.0)]) == 13.0


def test_a_replay_of_the_batch_does_not_commit_it() -> None:
    begun = [(7, 10.0), (7, 40.0), (8, 43.0)]
    assert committed_at(7, 10.0, begun, []) == 43.0
