"""What Spark asks of the planner, call by call: a batch and the next one, a restart, the end. Real
memberships stand behind the planner in tests/contract and tests/sim.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.plan import encode
from tests.unit.planning.planner_scene import P0, P1, Desk, desk, plan, ranges, tasks


@pytest.fixture
def d() -> Desk:
    return desk()


# -- a batch, and the next one


def test_a_new_query_begins_where_the_group_is(d: Desk) -> None:
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10), P1: (7, 10)}
    assert d.group.commits == [{}]


def test_the_next_call_proves_that_the_batch_is_done(d: Desk) -> None:
    end = d.batch(d.planner.initial_offset())
    d.brokers.end = 12
    assert ranges(d.next(end)) == {P0: (10, 12), P1: (10, 12)}
    assert d.group.commits[-1] == {P0: 10, P1: 10}


def test_without_a_start_the_last_plan_counts(d: Desk) -> None:
    """Spark 4.0 and 4.1 show none."""
    d.batch(None)
    d.brokers.end = 12
    assert ranges(d.next(None)) == {P0: (10, 12), P1: (10, 12)}


def test_where_nothing_came_the_start_is_the_answer(d: Desk) -> None:
    end = d.batch(d.planner.initial_offset())
    assert d.next(end) is end
    assert d.group.commits[-1] == {P0: 10, P1: 10}, "committed all the same"
    assert d.box.said[-1] == "settled"


def test_a_plan_that_spark_did_not_take_is_made_again_and_nothing_of_it_is_committed(
    d: Desk,
) -> None:
    start = d.planner.initial_offset()
    first = d.next(start)
    assert ranges(d.next(start)) == ranges(first)
    assert d.group.commits == [{}, {}]


def test_tasks_of_a_batch_are_the_same_however_often_spark_asks(d: Desk) -> None:
    start = d.planner.initial_offset()
    end = d.next(start)
    found = d.planner.partitions(start, end)
    assert d.planner.partitions(start, end) == found
    assert tasks(found) == {P0: (5, 10), P1: (7, 10)}


# -- what is not to be


@pytest.mark.parametrize("call", ["latest", "partitions"])
def test_offsets_that_this_query_has_not_planned_are_refused(d: Desk, call: str) -> None:
    end = d.batch(d.planner.initial_offset())
    ask: dict[str, Callable[[], object]] = {
        "latest": lambda: d.next(plan()),
        "partitions": lambda: d.planner.partitions(end, plan()),
    }
    with pytest.raises(PlanError, match="not planned"):
        ask[call]()


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"group": "other"}, "group 'other'"), ({"protocol": "kafka"}, "protocol 'kafka'")],
)
def test_a_checkpoint_of_another_group_or_protocol_is_refused(
    d: Desk, changes: dict[str, str], named: str
) -> None:
    with pytest.raises(PlanError, match=named):
        d.next(plan(**changes))
    assert d.group.resumed == []


def test_a_call_before_the_last_batch_has_begun_proves_nothing(d: Desk) -> None:
    """Spark's wrapper for available-now asks for the newest offset before the batch is logged."""
    d.next(None)
    with pytest.raises(PlanError, match="before it started"):
        d.next(None)
    assert d.group.commits == [{}]


# -- after a crash


def test_a_finished_batch_is_settled_at_the_restart(d: Desk) -> None:
    start = plan()
    assert ranges(d.next(start)) == {P0: (5, 10), P1: (7, 10)}
    assert [encode(p) for p in d.group.resumed] == [start]
    assert d.group.commits == [{}]


def test_a_restart_that_begins_with_the_end_twice_is_one_after_a_finished_batch(d: Desk) -> None:
    end = plan()
    assert d.planner.partitions(end, end) == []
    d.next(None)
    assert [encode(p) for p in d.group.resumed] == [end]


def test_a_replay_reads_what_is_still_this_members_and_commits_that_alone(d: Desk) -> None:
    d.group.included = frozenset([P0])
    start, end = d.planner.initial_offset(), plan()
    assert tasks(d.planner.partitions(start, end)) == {P0: (3, 5)}
    d.next(end)
    assert d.group.commits == [{P0: 5}]
    assert d.group.resumed == []


# -- the end


def test_lag_counts_from_what_is_planned() -> None:
    d = desk(maxOffsetsPerTrigger="4")
    d.next(d.planner.initial_offset())
    assert d.planner.report_latest()["lag"] == 8 - 3
    assert d.planner.report_latest()["latest"] == {"orders": {"0": 10, "1": 10}}


def test_a_replayed_batch_is_committed_also_where_spark_asks_for_its_end_alone(d: Desk) -> None:
    start, end = d.planner.initial_offset(), plan()
    d.planner.partitions(start, end)
    assert d.planner.partitions(end, end) == []
    d.next(end)
    assert d.group.commits == [{P0: 5, P1: 7}]
