"""The boundary between two batches, call by call: what Spark asks, and what the planner asks of the
group for it. Real memberships stand behind it in tests/contract and tests/sim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyspark_zkgroup.errors import PlanError, ServerError, StoppedError
from pyspark_zkgroup.model import Fence, LogEnd, OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.plan import Plan, PlannedRange, decode, encode
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.port import Position, Standing
from pyspark_zkgroup.ranges.gaps import Gap
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock
from tests.harness.given_options import LEAST

P0, P1 = (TopicPartition("orders", n) for n in range(2))
Offset = dict[str, Any]


class Clock(StillClock):
    def event(self) -> Any:
        raise AssertionError("no test here waits for an event")


@dataclass
class Group:
    """A membership that holds what a test says, and notes what it was asked."""

    clock: StillClock
    positions: dict[TopicPartition, int]
    protocol: str = "zookeeper"
    member: str = "billing_m"
    proofs: list[bool] = field(default_factory=list)
    """What the next proofs find; then all stands."""
    at_proof: Callable[[], object] = lambda: None
    ended: str = ""
    settled: bool = True
    unsettled: bool = False
    is_sure: bool = True
    included: frozenset[TopicPartition] = frozenset([P0, P1])
    commits: list[dict[TopicPartition, int]] = field(default_factory=list)
    resumed: list[Plan] = field(default_factory=list)
    skipped: list[Gap] = field(default_factory=list)
    left: list[dict[TopicPartition, int]] = field(default_factory=list)
    losses: Losses = field(default_factory=lambda: Losses(str, fail=False))

    def resume(self, plan: Plan) -> None:
        self.resumed.append(plan)

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        return self.included & {r.partition for r in plan.ranges}

    def stirred(self) -> bool:
        return True

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.commits.append(dict(done))
        self.positions.update((p, at) for p, at in done.items() if p in self.positions)
        held = {p: Position(at, 0, Fence(f"f{p.partition}")) for p, at in self.positions.items()}
        return Standing(held, settled=self.settled, ended=self.ended)

    def prove(self) -> bool:
        proved = self.proofs.pop(0) if self.proofs else True
        if not proved:
            self.at_proof()
        return proved

    def touched(self) -> bool:
        return False

    def vouches(self) -> bool:
        return self.is_sure

    def skip(self, found: Collection[Gap]) -> None:
        self.skipped += found
        self.positions.update((gap.partition, gap.start) for gap in found)

    def give_up(self) -> int:
        return 0

    def subscribed(self) -> Collection[TopicPartition]:
        return [P0, P1]

    def wait(self, timeout_s: float) -> None:
        self.clock.now += timeout_s

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        self.left.append(dict(done))

    def status(self) -> dict[str, Any]:
        return {"member": self.member}


@dataclass
class Box:
    """What a driver asks by its drain box, and what it is answered."""

    asked: bool = False
    heeds: bool = False
    done: Offset | None = None
    said: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.said.append("open")

    def requested(self) -> bool:
        return self.asked

    def finished(self, end: Offset) -> bool:
        return end == self.done

    def acknowledge(self) -> None:
        self.said.append("drained")

    def settle(self, settled: bool) -> None:
        if settled:
            self.said.append("settled")

    def ask_driver(self, by: str) -> None:
        self.said.append(f"ended by {by}")
        self.asked = self.heeds

    def close(self) -> None:
        self.said.append("closed")


@dataclass
class Desk:
    """A planner of a member that holds two partitions, read up to 5 and 7 of 10."""

    planner: Planner
    group: Group
    brokers: FakeBrokers
    box: Box
    logged: list[Offset] = field(default_factory=list)

    def next(self, start: Offset | None, once: bool = False) -> Offset:
        return self.planner.latest_offset(start, once)

    def batch(self, start: Offset | None) -> Offset:
        """Planned, and its tasks given to Spark."""
        end = self.next(start)
        self.planner.partitions(start or self.planner.initial_offset(), end)
        return end


def desk(**options: str) -> Desk:
    clock, brokers, box = Clock(), FakeBrokers({"orders": 2}, end=10), Box()
    group = Group(clock, {P0: 5, P1: 7})
    logged: list[Offset] = []
    planner = Planner(
        parse({**LEAST, "checkpointLocation": "/ck", **options}),
        group,
        brokers,
        clock,  # type: ignore[arg-type]
        box,
        lambda _location, end: end in logged,
    )
    return Desk(planner, group, brokers, box, logged)


@pytest.fixture
def d() -> Desk:
    return desk()


def ranges(offset: Offset) -> dict[TopicPartition, tuple[int, int]]:
    return {r.partition: (r.range.start, r.range.until) for r in decode(offset).ranges}


def plan(**changes: Any) -> Offset:
    read = (
        PlannedRange(P0, OffsetRange(3, 5), 0, Fence("f0")),
        PlannedRange(P1, OffsetRange(7, 7), 0, Fence("f1")),
    )
    return encode(
        Plan(
            **{
                "protocol": "zookeeper",
                "group": "billing",
                "member": "m",
                "ranges": read,
                **changes,
            }
        )
    )


def tasks(found: Iterable[Any]) -> dict[TopicPartition, tuple[int, int]]:
    return {r.partition: (r.range.start, r.range.until) for task in found for r in task.ranges}


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


def test_a_partition_without_records_is_in_the_plan_with_an_empty_range(d: Desk) -> None:
    d.group.positions[P1] = 10
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10), P1: (10, 10)}


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


# -- proofs


def test_what_is_no_longer_held_at_the_proof_is_not_planned(d: Desk) -> None:
    d.group.proofs = [False]
    d.group.at_proof = lambda: d.group.positions.pop(P1)
    assert ranges(d.next(d.planner.initial_offset())) == {P0: (5, 10)}


def test_a_group_that_changes_faster_than_it_is_proved_has_no_batch_this_time(d: Desk) -> None:
    d.group.proofs = [False] * 5
    start = d.planner.initial_offset()
    assert d.next(start) is start
    assert ranges(d.next(start)) == {P0: (5, 10), P1: (7, 10)}


# -- limits


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


# -- brokers and logs


def away(*_: object) -> Any:
    raise ServerError("No Kafka broker answered in time", "Check the brokers")


def test_a_new_query_without_brokers_fails_and_a_running_one_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = desk()
    with monkeypatch.context() as patch:
        patch.setattr(d.brokers, "log_ends", away)
        with pytest.raises(ServerError):
            d.next(d.planner.initial_offset())
    end = d.batch(d.planner.initial_offset())
    monkeypatch.setattr(d.brokers, "log_ends", away)
    assert d.next(end) is end


def test_a_restarted_query_without_brokers_waits(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d.brokers, "log_ends", away)
    start = plan()
    assert d.next(start) is start


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


# -- the end


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


def test_lag_counts_from_what_is_planned() -> None:
    d = desk(maxOffsetsPerTrigger="4")
    d.next(d.planner.initial_offset())
    assert d.planner.report_latest()["lag"] == 8 - 3
    assert d.planner.report_latest()["latest"] == {"orders": {"0": 10, "1": 10}}


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


def test_a_plan_that_spark_did_not_take_is_no_batch_to_wait_after() -> None:
    d = desk(minOffsetsPerTrigger="5", maxTriggerDelay="10s")
    start = d.batch(d.planner.initial_offset())
    d.brokers.end = 12
    d.group.clock.now += 11
    not_taken = d.next(start)
    assert not_taken != start
    again = d.next(start)
    assert ranges(again) == ranges(not_taken)


def test_what_brokers_said_before_an_outage_is_not_taken_for_an_answer(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = d.batch(d.planner.initial_offset())
    looks: list[object] = []

    def look(*given: object) -> list[Gap]:
        looks.append(given)
        return []

    monkeypatch.setattr(d.brokers, "log_ends", away)
    monkeypatch.setattr(d.planner.boundary.logs, "look", look)
    assert d.next(end) is end
    assert d.group.commits[-1] == {P0: 10, P1: 10}
    assert looks == []


def test_a_job_that_ends_by_itself_does_not_wait_for_more_records() -> None:
    d = desk(minOffsetsPerTrigger="5", maxOffsetsPerTrigger="5")
    d.planner.prepare_available_now()
    end = d.batch(None)
    rest = d.next(end)
    assert rest != end
    assert 0 < sum(until - start for start, until in ranges(rest).values()) < 5


def test_a_running_query_waits_for_brokers_that_answered_for_nothing_before(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All leaders are away for a moment, then all brokers."""
    end = d.batch(d.planner.initial_offset())
    monkeypatch.setattr(d.brokers, "log_ends", lambda _partitions: {})
    assert d.next(end) is end
    monkeypatch.setattr(d.brokers, "log_ends", away)
    d.group.clock.now += 10.0
    assert d.next(end) is end
