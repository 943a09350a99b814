"""What happens at a boundary before a batch is planned: commits, requests to end, and the share."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import StoppedError
from pyspark_zkgroup.model import TopicPartition
from tests.unit.planning.planner_scene import P0, P1, Desk, desk, ranges


@pytest.fixture
def d() -> Desk:
    return desk()


def test_a_partition_that_is_lost_and_claimed_again_at_one_boundary_is_read_at_once(
    d: Desk,
) -> None:
    """Else an idle query asks for the log ends a quarter of a second later, or later still if
    events keep waking it.
    """
    end = d.batch(d.planner.initial_offset())
    assert d.next(end) is end, "idle from here"
    d.group.positions[P0] = 7
    assert ranges(d.next(end)) == {P0: (7, 10), P1: (10, 10)}


def test_a_drain_commits_and_plans_nothing_more(d: Desk) -> None:
    end = d.batch(d.planner.initial_offset())
    d.box.asked, d.brokers.end = True, 20
    before = d.group.clock.now
    assert d.next(end) is end
    assert d.group.clock.now > before, "Spark asks again at once"
    assert d.group.commits[-1] == {P0: 10, P1: 10}
    assert "drained" in d.box.said


def test_a_drain_is_not_answered_while_a_commit_is_open(d: Desk) -> None:
    end = d.batch(d.planner.initial_offset())
    d.box.asked = d.group.unsettled = True
    assert d.next(end) is end
    assert "drained" not in d.box.said
    d.group.unsettled = False
    assert d.next(end) is end
    assert "drained" in d.box.said


@pytest.mark.parametrize("heeds", [True, False])
def test_an_operators_wish_ends_the_query(d: Desk, heeds: bool) -> None:
    """By its driver, if that heeds it, and else by an error."""
    end = d.batch(d.planner.initial_offset())
    d.group.ended, d.box.heeds = "zkgroup stop", heeds
    if heeds:
        assert d.next(end) is end
    else:
        with pytest.raises(StoppedError, match="zkgroup stop"):
            d.next(end)
    assert "ended by zkgroup stop" in d.box.said
    assert d.group.commits[1] == {P0: 10, P1: 10}


@pytest.mark.parametrize(
    ("evidence", "done"), [("log", {P0: 10, P1: 10}), ("box", {P0: 10, P1: 10}), ("", {})]
)
def test_the_last_batch_is_committed_on_evidence_alone(
    d: Desk, evidence: str, done: dict[TopicPartition, int]
) -> None:
    end = d.batch(d.planner.initial_offset())
    if evidence == "log":
        d.logged.append(end)
    elif evidence == "box":
        d.box.done = end
    d.planner.stop()
    d.planner.stop()
    assert d.group.left == [done]
    assert d.box.said[-1] == "closed"


@pytest.mark.parametrize("settles_after_s", [1.0, 60.0])
def test_a_job_that_ends_by_itself_waits_for_its_share_for_a_while(
    settles_after_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    """A member that has died holds partitions until its session ends."""
    d = desk(**{"rebalance.wait.ms": "3000"})
    began, d.group.settled = d.group.clock.now, False
    wait = d.group.wait

    def waited(timeout_s: float) -> None:
        wait(timeout_s)
        d.group.settled = d.group.clock.now >= began + settles_after_s

    d.group.wait = waited  # type: ignore[method-assign]
    end = d.next(None, once=True)
    assert ranges(end) == {P0: (5, 10), P1: (7, 10)}
    assert d.group.clock.now - began == pytest.approx(min(settles_after_s, 3.0), abs=0.3)
    assert ("ZKG-109" in caplog.text) is (settles_after_s > 3.0)
