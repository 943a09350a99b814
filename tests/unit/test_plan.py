from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import OffsetRead, stands, version_of
from pyspark_zkgroup.model import NO_MARK, Fence, Mark, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange, TaskRange, decode, encode, task_inputs

GOLDEN = Path(__file__).parent.parent / "golden" / "plans"


RANGE = {"from": 0, "until": 1, "thread": 0, "fence": "1.1"}


def planned(topic: str, partition: int, start: int, until: int, thread: int = 0) -> PlannedRange:
    return PlannedRange(
        TopicPartition(topic, partition), OffsetRange(start, until), thread, Fence("7.1")
    )


def test_the_golden_plan_is_read_and_written_to_the_letter() -> None:
    text = (GOLDEN / "v2.json").read_text().strip()
    plan = decode(json.loads(text))
    assert json.dumps(encode(plan)) == text
    fences = [version_of(r.fence) for r in plan.ranges]
    assert fences == [
        NodeVersion(4294967312, 3),
        NodeVersion(4294967399, 0),
        NodeVersion(4294967313, 12),
    ]
    assert [r.mark for r in plan.ranges] == [Mark(7, "Yw1hPrQ2TDmM0gQsk4UoYQ"), Mark(0), NO_MARK]
    assert plan.group == "billing"
    assert plan.by_partition[TopicPartition("orders", 0)].range == OffsetRange(5, 10)
    assert str(plan.thread_id(plan.ranges[0])) == "billing_host-1795198465488-1cf4c010-1"


def test_a_plan_of_version_1_is_read_without_epochs() -> None:
    older = decode(json.loads((GOLDEN / "v1.json").read_text()))
    newer = decode(json.loads((GOLDEN / "v2.json").read_text()))
    assert older.ranges == tuple(replace(r, mark=NO_MARK) for r in newer.ranges)


def test_a_plan_made_while_zookeeper_was_silent_names_the_value_that_was_sent() -> None:
    plan = decode(json.loads((GOLDEN / "v1_unanswered.json").read_text()))
    assert decode(encode(plan)) == plan
    (planned,) = plan.ranges
    assert stands(planned.fence, OffsetRead(b"2", NodeVersion(4294967312, 3)))
    assert stands(planned.fence, OffsetRead(b"5", NodeVersion(4294967312, 4)))


def test_a_plan_from_the_future_is_refused_with_both_numbers() -> None:
    future = json.loads((GOLDEN / "from_the_future.json").read_text())
    with pytest.raises(PlanError, match=r"version 3, but this zkgroup reads versions up to 2"):
        decode(future)


def test_partitions_are_sorted_by_number() -> None:
    plan = Plan("zookeeper", "g", "m", (planned("t", 2, 0, 1), planned("t", 10, 0, 1)))
    assert list(encode(plan)["partitions"]["t"]) == ["2", "10"]
    assert decode(encode(plan)) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": None}, "version None"),
        ({"version": True}, "version True"),
        ({"version": 0}, "version 0"),
        ({"group": 3}, "group = 3"),
        ({"partitions": []}, r"partitions = \[\]"),
        ({"partitions": {"t": 1}}, "no partitions for 't'"),
        ({"partitions": {"t": {"x": {}}}}, "'t', partition 'x'"),
        (
            {"partitions": {"t": {"0": {"from": 3, "until": 1, "thread": 0, "fence": "1.1"}}}},
            "damaged at 't'",
        ),
        (
            {"partitions": {"t": {"0": {"from": 0, "until": 1, "thread": 0, "fence": ""}}}},
            "damaged at 't'",
        ),
        (
            {"partitions": {"t": {"0": {"from": "0", "until": 1, "thread": 0, "fence": "1.1"}}}},
            "from = '0'",
        ),
        (
            {"partitions": {"t": {"0": {**RANGE, "epoch": "7"}}}},
            "epoch = '7'",
        ),
        (
            {"partitions": {"t": {"0": {**RANGE, "topicId": 7}}}},
            "topicId = 7",
        ),
    ],
)
def test_a_damaged_plan_is_named(change: dict[str, Any], message: str) -> None:
    offset = {**encode(Plan("zookeeper", "g", "m")), **change}
    with pytest.raises(PlanError, match=message):
        decode(offset)


def test_one_task_for_each_thread_that_has_something_to_read() -> None:
    plan = Plan(
        "zookeeper",
        "g",
        "m",
        (
            planned("t", 0, 0, 5, thread=1),
            planned("t", 1, 3, 3, thread=0),
            planned("t", 2, 0, 2, thread=1),
            planned("t", 3, 0, 9, thread=2),
        ),
    )
    every = frozenset(plan.by_partition)
    tasks = task_inputs(plan, every)
    assert [task.thread_id for task in tasks] == ["m-1", "m-2"]
    assert tasks[0].ranges == (
        TaskRange(TopicPartition("t", 0), OffsetRange(0, 5)),
        TaskRange(TopicPartition("t", 2), OffsetRange(0, 2)),
    )
    left_out = every - {TopicPartition("t", 3)}
    assert [task.thread_id for task in task_inputs(plan, left_out)] == ["m-1"]


def test_a_task_receives_the_log_of_each_range() -> None:
    of_log = replace(planned("t", 0, 0, 5), mark=Mark(3, "id"))
    (task,) = task_inputs(Plan("zookeeper", "g", "m", (of_log,)), frozenset({of_log.partition}))
    assert task.ranges == (TaskRange(of_log.partition, OffsetRange(0, 5), Mark(3, "id")),)


def test_a_plan_names_a_partition_once() -> None:
    with pytest.raises(ValueError, match="once"):
        Plan("zookeeper", "g", "m", (planned("t", 0, 0, 1), planned("t", 0, 1, 2)))
