"""What Spark's offset log says of a batch."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup import plan
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.planned import logs_in, ranges_in
from pyspark_zkgroup.errors import DeltaError, PlanError
from pyspark_zkgroup.model import Fence, Mark, OffsetRange, TopicPartition

FACTS = '{"batchWatermarkMs":0,"batchTimestampMs":1795198465488,"conf":{}}'


def logged(topic_id: str = "", **spans: tuple[int, int]) -> str:
    planned = tuple(
        plan.PlannedRange(
            TopicPartition("t", int(p[1:])),
            OffsetRange(*span),
            0,
            Fence("7.1"),
            mark=Mark(0, topic_id),
        )
        for p, span in sorted(spans.items())
    )
    return json.dumps(plan.encode(plan.Plan("zookeeper", "g", "g_1", planned)))


def test_the_plans_ranges_and_none_that_is_empty() -> None:
    log = "\n".join(["v1", FACTS, logged(p0=(5, 9), p1=(3, 3))])
    assert ranges_in(log, "offsets/1") == {TopicPartition("t", 0): OffsetRange(5, 9)}


def test_other_sources_of_the_query_are_passed_over_and_our_own_joined() -> None:
    log = "\n".join(
        ["v1", FACTS, "-", '{"orders":{"0":23}}', "42", logged(p0=(5, 9)), logged(p0=(7, 12))]
    )
    assert ranges_in(log, "offsets/1") == {TopicPartition("t", 0): OffsetRange(5, 12)}


def test_logs_have_the_topics_ids_where_brokers_tell_them() -> None:
    log = "\n".join([FACTS, logged("an id", p0=(5, 9), p1=(3, 3)), logged(p0=(7, 12), p2=(0, 1))])
    expected = {Log("t", 0, "an id"), Log("t", 0), Log("t", 2)}
    assert logs_in(log) == expected


def test_a_log_without_a_plan_of_ours_is_another_querys() -> None:
    of_kafka = '{"orders":{"0":23}}'
    with pytest.raises(DeltaError, match="a/offsets/1 holds no plan of a zkgroup source"):
        ranges_in(f"v1\n{FACTS}\n{of_kafka}", "a/offsets/1")


def test_a_plan_of_a_newer_version_is_refused() -> None:
    newer = {**json.loads(logged()), "version": plan.VERSION + 1}
    with pytest.raises(PlanError, match="version 3"):
        ranges_in("\n".join(["v1", FACTS, json.dumps(newer)]), "a/offsets/1")
