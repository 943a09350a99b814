"""How the next plan is made: proofs, limits, jobs that end by themselves, and losses."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import LogEnd
from tests.unit.planning.planner_scene import P0, P1, Desk, desk, ranges


@pytest.fixture
def d() -> Desk:
    return desk()


def test_a_partition_without_records_is_in_the_plan_with_an_empty_range(d: Desk) -> None:
    d.group.positions[P1] = 10
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10), P1: (10, 10)}


def test_what_is_no_longer_held_at_the_proof_is_not_planned(d: Desk) -> None:
    d.group.proofs = [False]
    d.group.at_proof = lambda: d.group.positions.pop(P1)
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10)}


def test_a_group_that_changes_faster_than_it_is_proved_has_no_batch_this_time(d: Desk) -> None:
    d.group.proofs = [False] * 5
    start = d.planner.initial_offset()
    assert d.next(start) is start
    assert ranges(d.next(start)) == {P0: (5, 10), P1: (7, 10)}


def test_a_limit_of_offsets_holds_for_all_partitions_together() -> None:
    d = desk(maxOffsetsPerTrigger="4")
    found = ranges(d.next(d.planner.initial_offset()))
    assert found == {P0: (5, 7), P1: (7, 8)}


def test_trigger_once_takes_everything() -> None:
    d = desk(maxOffsetsPerTrigger="4")
    found = ranges(d.next(d.planner.initial_offset(), once=True))
    assert found == {P0: (5, 10), P1: (7, 10)}


def test_too_little_is_held_back_but_not_from_a_job_that_ends() -> None:
    d = desk(minOffsetsPerTrigger="9", maxTriggerDelay="1h")
    start = d.batch(d.planner.initial_offset())  # the first is not
    d.brokers.end = 12
    assert d.next(start) is start
    d.brokers.end = 15
    d.group.clock.now += 1
    assert ranges(d.next(start)) == {P0: (10, 15), P1: (10, 15)}
    job = desk(minOffsetsPerTrigger="9", maxTriggerDelay="1h")
    job.planner.prepare_available_now()
    assert ranges(job.next(job.planner.initial_offset())) == {P0: (5, 10), P1: (7, 10)}


def test_available_now_reads_to_the_ends_that_it_saw_first() -> None:
    d = desk(maxOffsetsPerTrigger="6")
    d.planner.prepare_available_now()
    first = d.batch(d.planner.initial_offset())
    assert ranges(first) != {P0: (5, 10), P1: (7, 10)}
    d.brokers.end = 50
    second = d.batch(first)
    assert {until for _, until in ranges(second).values()} == {10}
    assert d.next(second) is second


def test_available_now_waits_for_an_end_that_a_leader_does_not_know_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = desk(maxOffsetsPerTrigger="2")
    d.planner.prepare_available_now()
    first = d.batch(d.planner.initial_offset())
    d.brokers.end = 9
    waited: list[float] = []

    def wait(timeout_s: float) -> None:
        waited.append(timeout_s)
        d.group.clock.now += timeout_s
        d.brokers.end = 10

    monkeypatch.setattr(d.group, "wait", wait)
    assert sum(until - start for start, until in ranges(d.next(first)).values()) == 2
    assert waited


def test_records_that_are_gone_are_skipped_before_the_plan(d: Desk) -> None:
    d.brokers.starts[P0] = 8
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (8, 10), P1: (7, 10)}
    assert [(gap.kind, gap.lost) for gap in d.group.skipped] == [("passed", 3)]


def test_a_loss_waits_until_its_member_vouches_for_the_position_and_is_found_again(
    d: Desk,
) -> None:
    d.brokers.starts[P0] = 8
    d.group.positions, d.group.is_sure = {P0: 5, P1: 9}, False
    end = d.batch(d.planner.initial_offset())
    assert (ranges(end), d.group.skipped) == ({P0: (5, 5), P1: (9, 10)}, [])
    d.group.is_sure = True
    assert ranges(d.next(end)) == {P0: (8, 10), P1: (10, 10)}
    assert [(gap.kind, gap.lost) for gap in d.group.skipped] == [("passed", 3)]


def test_a_partition_that_is_lost_while_its_position_is_proved_is_not_planned(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof finds that an operator has moved the offset: the member drops the partition."""

    def drop() -> bool:
        d.group.positions.pop(P0, None)
        return False

    monkeypatch.setattr(d.group, "vouches", drop)
    d.brokers.starts[P0] = 8
    assert ranges(d.next(d.planner.initial_offset())) == {P1: (7, 10)}
    assert d.group.skipped == []


def test_a_partition_without_an_end_is_left_for_the_next_time(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(d.brokers, "log_ends", lambda _: {P0: LogEnd(10)})
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10), P1: (7, 7)}


def test_a_plan_that_spark_did_not_take_is_no_batch_to_wait_after() -> None:
    d = desk(minOffsetsPerTrigger="5", maxTriggerDelay="10s")
    start = d.batch(d.planner.initial_offset())
    d.brokers.end = 12
    d.group.clock.now += 11
    not_taken = d.next(start)
    assert not_taken != start
    again = d.next(start)
    assert ranges(again) == ranges(not_taken)


def test_a_job_that_ends_by_itself_does_not_wait_for_more_records() -> None:
    d = desk(minOffsetsPerTrigger="5", maxOffsetsPerTrigger="5")
    d.planner.prepare_available_now()
    end = d.batch(None)
    rest = d.next(end)
    assert rest != end
    assert 0 < sum(until - start for start, until in ranges(rest).values()) < 5
