"""The notes in a member's progress."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import notes

P = TopicPartition("orders", 0)
NAMED = Subscription.static({"orders": 1, "refunds": 1})
MEMBERS = {name: Registration(NAMED, "1") for name in ("me", "before")}


@pytest.mark.parametrize(
    ("topics", "missing"),
    [
        ({"orders": (0,), "refunds": (0,)}, []),
        (
            {"orders": (0,), "refund": (0,)},
            ["topic refunds does not exist yet (similar names: refund)"],
        ),
        ({"refunds": (0,)}, ["topic orders does not exist yet"]),
        ({"orders": (0,), "refunds": ()}, ["topic refunds does not exist yet"]),
    ],
)
def test_named_topics_that_are_missing(
    topics: Mapping[str, tuple[int, ...]], missing: list[str]
) -> None:
    assert notes.missing_topics(NAMED, list, topics) == missing


def test_a_pattern_that_matches_no_topic() -> None:
    pattern = Subscription.white_list("x.*", 1)
    assert notes.missing_topics(pattern, lambda: [P], {}) == []
    assert notes.missing_topics(pattern, list, {"orders": (0,)}) == [
        "no topic matches the subscription yet"
    ]


def test_members_left_out_are_named_with_the_reason() -> None:
    snapshot = Snapshot(MEMBERS, {}, skipped={"x": "no JSON"})
    assert notes.left_out(snapshot) == ["member x is excluded from the assignment: no JSON"]


@pytest.mark.parametrize(
    ("plan_of", "owner", "expected"),
    [
        ("", "me", ""),
        ("me", "me", ""),
        ("gone", "me", ""),
        ("before", "me", "the predecessor before is still registered"),
        (
            "gone",
            "before",
            "all partitions are assigned to other members, some of which may have stopped",
        ),
    ],
)
def test_a_registered_member_may_have_died(plan_of: str, owner: str, expected: str) -> None:
    plan = Plan("zookeeper", "g", plan_of) if plan_of else None
    target = {P: ThreadId(owner, 0)}
    assert notes.expected("me", plan, Snapshot(MEMBERS, {}), target) == expected
    assert notes.expected("me", None, Snapshot(MEMBERS, {}), {}) == ""
