"""What is read out of members' logs and events, and what makes a run fail."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.protocols.owned.claims import Moved
from tests.chaos import report
from tests.chaos.duplicates import committed_at, duplicates
from tests.chaos.kinds import KINDS
from tests.chaos.process import registered
from tests.chaos.protocols import BROKER_AWAY, COORDINATOR_AWAY, PROTOCOLS
from tests.chaos.settings import Settings
from tests.chaos.table import offsets_in, ranges_of
from tests.chaos.values import FOREVER, Batch, Duplicate, Fault, Span, Trigger, Unowned, Wait
from tests.chaos.verdict import (
    CUT_OFF,
    ENDED,
    GAVE_UP,
    LOST,
    Evidence,
    deaths,
    from_their_plans,
    plain_reads,
    reads_of,
    rebalances,
    sessions_ended,
    unanswered_commits,
    unsettled,
)
from tests.chaos.watch import Look, Watch
from tests.harness.waiting import wait_until
from tests.spark.sink import Delivery, Ranges

P = TopicPartition("events", 3)
KILL = Fault(1, "planner killed", "a", 10.0, 10.1, ("a",), hard=True)
OVERLAPPING = (
    replace(KILL, over=30.0),
    Fault(2, "broker killed", "kafka-1", 12.0, 20.0, over=30.0),
    Fault(3, "broker killed", "kafka-2", 31.0, 35.0, over=40.0),
)
GOOD = Evidence(
    produced=100,
    read=110,
    missing=0,
    missing_in_log=0,
    duplicates=(),
    delta_duplicates=0,
    never_produced=0,
    faults=(KILL,),
    noted=(),
    unowned=(),
    deaths=(),
    went_back=(),
    uncommitted=0,
    faults_wanted=1,
)


def test_a_member_that_never_planned_is_known_by_the_session_in_its_log() -> None:
    said = [
        (1.0, "Opened session 0x10003 with ZooKeeper for chaos_vm-17-e40e452c of group chaos"),
        (2.0, "Opened session 0x10004 with coordinator c1 for chaos_vm-18-ab of group chaos"),
        (3.0, "ZooKeeper answers again after 3.1 s"),
    ]
    assert registered(said) == ["chaos_vm-17-e40e452c", "chaos_vm-18-ab"]


def test_the_end_of_a_session_in_a_members_own_log_is_a_hard_fault_of_it() -> None:
    said = [
        (50.0, "ZooKeeper answers again after 3.1 s"),
        (
            60.0,
            "Session 0x10003 with ZooKeeper expired with 2 partitions held. Rejoining the group",
        ),
        (
            70.0,
            "Session 0x10004 with ZooKeeper expired with 0 partitions held. Rejoining the group",
        ),
    ]
    (found,) = sessions_ended("b", said, 10.0)
    assert (found.at, found.until, found.members, found.hard) == (45.0, 60.0, ("b",), True)
    assert not found.injected
    lost = (60.0, "[ZKG-165] Lost the membership in group chaos: unknown member")
    silent = (
        70.0,
        "[ZKG-165] Lost the membership in group chaos: the driver has not called for 1 s",
    )
    assert [(f.at, f.until) for f in sessions_ended("b", [lost, silent], 10.0)] == [(45.0, 60.0)]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (ENDED, catalogue.warning("ZKG-114", session=1, server="ZooKeeper", held=2)),
        (GAVE_UP, catalogue.warning("ZKG-103", held=2, silent_s=1.0)),
        (LOST, catalogue.warning("ZKG-165", group="chaos", reason="unknown member")),
    ],
    ids=["ended", "gave up", "lost"],
)
def test_these_are_the_lines_that_members_write(pattern: re.Pattern[str], line: str) -> None:
    """Without them each judgement would be too kind."""
    assert pattern.search(line)


def test_rebalances_are_counted_by_what_members_say() -> None:
    said = [
        (1.0, f"Rebalanced group chaos: {Moved(claimed=[P])}, holding 1 of 1"),
        (2.0, "Left group chaos as chaos_a"),
        (3.0, "Joined group chaos as a-1, generation 4, 2 partitions assigned"),
    ]
    assert rebalances(said) == 2


def test_a_query_that_dies_after_the_kill_of_its_planner_was_killed() -> None:
    died = {"event": "died", "at": 14.0, "error": "the planner is gone\nat ..."}
    assert list(deaths("a", [died], [KILL])) == []
    assert list(deaths("b", [died], [KILL])) == ["b at 14.0: the planner is gone"]
    assert len(list(deaths("a", [died, {**died, "at": 15.0}], [KILL]))) == 1


def test_a_fault_after_which_the_group_does_not_settle_is_reported() -> None:
    late = replace(KILL, number=2, healed=11.0, settled=False, over=101.0)
    said = ["the group had not settled 90 s after fault 2"]
    assert list(unsettled([KILL, late], [], 90.0)) == said
    ended = Fault(-1, "session ended", "b", 30.0, 45.0, ("b",), hard=True, injected=False)
    assert list(unsettled([late], [ended], 90.0)) == []
    assert list(unsettled([late], [replace(ended, until=10.5)], 90.0)) == said


def test_what_plain_consumers_have_read_is_known_by_partition() -> None:
    class Plain:
        def __init__(self, *offsets: int) -> None:
            self.rows = [(P.topic, P.partition, offset) for offset in offsets]

    assert plain_reads([Plain(5, 7, 7), Plain(6)]) == {P: [(5, 8)]}


def test_deliveries_become_reads_with_the_time_of_their_commit() -> None:
    deliveries = [
        Delivery("a", number, 10.0 * number, 10.0 * number + 1, {P: (OffsetRange(0, 5),)})
        for number in (1, 2)
    ]
    reads = list(reads_of("a", deliveries, []))
    assert [(r.start, r.until, r.batch.committed) for r in reads] == [(0, 5, 20.0), (0, 5, FOREVER)]
    triggers = [Trigger("a", 2.0, 9.0), Trigger("a", 12.0, 1.0)]
    assert [r.batch.asked for r in reads_of("a", deliveries, [], triggers)] == [2.0, None]
    reads = list(reads_of("a", deliveries, [], (), [(19.0, 21.0)]))
    assert [r.batch.committed for r in reads] == [FOREVER, FOREVER]


@pytest.mark.parametrize(("planned", "explained"), [(96.389, True), (96.2, True), (117.43, False)])
def test_a_planner_that_is_paused_right_after_its_plan_explains_a_repeat(
    planned: float, explained: bool
) -> None:
    """Spark logs the plan of batch 2 at 96.389; the planner is paused at 96.43, before it is asked
    for the batch's partitions; its successor reads the same; at 117.42 it continues, and the batch
    reaches the sink. A plan that is made after the pause is no such batch.
    """
    paused = Fault(1, "planner paused", "a", 96.43, 117.42, ("a",), hard=True)
    events: list[dict[str, Any]] = [
        {"event": "started", "at": 80.0, "replays": ()},
        {"event": "taken", "at": 117.46, "batch": 2, "planned": planned},
    ]
    records: Ranges = {P: (OffsetRange(5, 9),)}
    late = from_their_plans([Delivery("a", 2, 117.45, 117.63, records)], events)
    other = [Delivery("b", 8, 109.83, 110.08, records), Delivery("b", 9, 111.0, 111.1, {})]
    reads = [*reads_of("a", late, []), *reads_of("b", other, [])]
    (found,) = duplicates(reads, [paused])
    assert found.explained == explained


def test_a_replay_begins_with_its_run_and_not_with_the_plan_of_an_earlier_one() -> None:
    events: list[dict[str, Any]] = [
        {"event": "started", "at": 10.0, "replays": ()},
        {"event": "taken", "at": 21.0, "batch": 7, "planned": 20.0},
        {"event": "gone", "at": 22.0},
        {"event": "started", "at": 30.0, "replays": (7,)},
        {"event": "taken", "at": 36.0, "batch": 7, "planned": 20.0},
    ]
    deliveries = [Delivery("a", 7, 20.9, 21.5, {}), Delivery("a", 7, 35.9, 36.5, {})]
    assert [d.began for d in from_their_plans(deliveries, events)] == [20.0, 30.0]
    # The process ended before its event was on the disk.
    assert [d.began for d in from_their_plans(deliveries, events[2:3])] == [20.9, 35.9]


def test_commits_have_no_answer_while_a_broker_or_the_member_is_cut_off() -> None:
    cut = Fault(4, "member cut off shortly", "a", 40.0, 45.0, ("a",))
    faults = [*OVERLAPPING, cut]
    assert unanswered_commits("a", faults, BROKER_AWAY) == [
        (12.0, 20.0),
        (31.0, 35.0),
        (40.0, 45.0),
    ]
    assert unanswered_commits("b", faults, BROKER_AWAY) == [(12.0, 20.0), (31.0, 35.0)]


def test_commits_have_no_answer_while_another_broker_becomes_the_coordinator() -> None:
    """A preferred leader is elected at 60.1, without a fault. The first batch ends at 60.4, and its
    commit is refused; the second one begins at 61.5, and its driver is killed.
    """
    unanswered = unanswered_commits("a", [], BROKER_AWAY, [Span(60.0, 60.3)], heartbeat_s=3.0)
    assert unanswered == [(60.0, 63.3)]
    begun = [(1, 45.0), (2, 61.5)]
    assert committed_at(1, 45.0, begun, []) == 61.5
    assert committed_at(1, 45.0, begun, [], unanswered) == FOREVER


def test_commits_have_no_answer_while_zookeeper_elects_a_leader() -> None:
    """Its leader is killed at 12.2. The first batch ends at 12.5, and its commit gets no answer;
    the second one begins under the lease at 13.1, and its driver is killed.
    """
    fault = Fault(4, "ZooKeeper leader killed", "zookeeper-3", 12.2, 23.0)
    begun = [(1, 11.0), (2, 13.1)]
    for name in ("zookeeper", "coordinator", "light"):
        unanswered = unanswered_commits("a", [fault], PROTOCOLS[name].unanswered_in)
        assert committed_at(1, 11.0, begun, [], unanswered) == FOREVER
    unanswered = unanswered_commits("a", [fault], PROTOCOLS["kafka"].unanswered_in)
    assert committed_at(1, 11.0, begun, [], unanswered) == 13.1


def test_the_watch_notes_when_another_broker_becomes_the_coordinator() -> None:
    names = ("2", "2", "", "3", "", "3")
    looks = [Look(at=float(n), coordinator=name) for n, name in enumerate(names, 1)]

    class Scripted:
        def read(self, partitions: int, before: Look) -> Look:
            del partitions, before
            return looks.pop(0)

        def close(self) -> None:
            pass

    watch = Watch(Scripted(), partitions=1)
    wait_until(lambda: not looks and watch.blind, 10.0, "the watch to have looked")
    watch.close()
    assert watch.coordinator_moves == [Span(2.0, 4.0)]


def test_each_kind_that_leaves_commits_unanswered_is_a_kind_of_fault() -> None:
    assert KINDS.keys() >= BROKER_AWAY | COORDINATOR_AWAY | CUT_OFF


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"missing": 3}, "3 records are missing in the table"),
        ({"missing_in_log": 3}, "3 records are missing in what the batches read"),
        ({"delta_duplicates": 2}, "2 records are in the table more than once"),
        ({"never_produced": 1}, "1 rows of the table were never produced"),
        ({"deaths": ("a at 3: why",)}, "a query died by itself: a at 3: why"),
        ({"went_back": ("t-0 from 5 to 4 at 3.0",)}, "the committed offset of t-0 from 5 to 4"),
        ({"uncommitted": 9}, "9 records were not committed"),
        ({"faults_wanted": 2}, "1 faults, 2 were wanted"),
        ({"errors": ("the driver of a ended by itself",)}, "the driver of a ended by itself"),
        (
            {"duplicates": (Duplicate(P, 0, 9, (Batch("a", 1, 1, 2, 3),) * 2, ()),)},
            "9 records were read twice without a fault",
        ),
        (
            {"unowned": (Unowned(P, 1.0, 9.0, 5.0, 2.0, "a", "b"),)},
            "events-3 had no living owner for 8.0 s (at most 5.0)",
        ),
    ],
)
def test_every_fault_is_reported(change: dict[str, object], said: str) -> None:
    assert GOOD.failures == []
    failures = replace(GOOD, **change).failures  # type: ignore[arg-type]
    assert len(failures) == 1
    assert said in failures[0]


def test_the_report_has_its_keys_and_each_duplicate_its_fault() -> None:
    batch = Batch("a", 7, 9.0, 9.5, FOREVER)
    again = Batch("b", 2, 30.0, 31.0, FOREVER)
    duplicate = Duplicate(P, 0, 9, (batch, again), ((batch, KILL),))
    wait = Wait("b", Span(1.2, 2.0), 0.7)
    gap = Unowned(P, 1, 2, 5, 2, "a", "b", waits=(wait,))
    evidence = replace(GOOD, duplicates=(duplicate,), unowned=(gap,), faults=OVERLAPPING)
    found = json.loads(json.dumps(report.content(evidence, Settings(), 1.0, 60.0, 4)))
    assert found["protocol"] == "zookeeper"
    assert (found["counts"]["faults"], found["counts"]["faults_overlapping"]) == (3, 2)
    assert {"produced", "read", "missing", "duplicates", "delta_duplicates", "faults"} <= set(found)
    assert found["right"]
    assert found["faults"][0]["kind"] == "planner killed"
    (shown,) = found["duplicates"]
    assert (shown["member"], shown["batch"], shown["fault"]) == (
        "a",
        7,
        {"number": 1, "kind": "planner killed"},
    )
    assert found["counts"]["duplicate_records"] == 9
    assert found["unowned"]["longest_s"] == 1.0
    assert found["unowned"]["longest"][0]["rightful"] == [
        {"member": "b", "from": 0.2, "seconds": 0.8, "granted": 0.7}
    ]
    assert len(list(report.lines(found))) == 2


def test_the_table_is_what_its_log_leaves_standing(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    for name, offsets in (("one", [0, 1, 2]), ("two", [2, 3]), ("gone", [7])):
        pq.write_table(pa.table({"offset": offsets}), tmp_path / f"{name}.parquet")
    actions: list[list[dict[str, object]]] = [
        [add("one"), add("gone")],
        [add("two"), {"remove": {"path": "gone.parquet"}}],
    ]
    for version, some in enumerate(actions):
        text = "\n".join(json.dumps(action) for action in some)
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")
    held = offsets_in(tmp_path)
    assert held == {P: Counter({0: 1, 1: 1, 2: 2, 3: 1})}
    assert ranges_of(held[P]) == [(0, 4)]


def add(name: str) -> dict[str, object]:
    values = {"topic": P.topic, "partition": str(P.partition)}
    return {"add": {"path": f"{name}.parquet", "partitionValues": values}}
