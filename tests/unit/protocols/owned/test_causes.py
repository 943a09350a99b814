"""The cause of a rebalance in the log is an event of the group, not a node."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.protocols.owned.rules.causes import events

PATHS = GroupPaths("g")


def member(threads: int = 1) -> Registration:
    return Registration(Subscription("static", (("orders", threads),)), "1")


def group(*names: str, partitions: int = 2, threads: int = 1) -> Snapshot:
    topics = {"orders": tuple(range(partitions))}
    return Snapshot({name: member(threads) for name in names}, topics)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (group("a"), group("a", "b"), "b joined"),
        (group("a", "b", "c"), group("a"), "b, c left"),
        (group("a", "b"), group("a", "c"), "c joined, b left"),
        (group("a"), group("a", threads=2), "a changed its registration"),
        (group("a"), group("a", partitions=4), "orders has 4 partitions instead of 2"),
    ],
)
def test_what_changed_between_two_looks(before: Snapshot, after: Snapshot, text: str) -> None:
    assert events([PATHS.ids], PATHS, "a", before, after) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (PATHS.ids, "a member joined, left or changed"),
        (PATHS.id("b"), "a member joined, left or changed"),
        (PATHS.owner_topic("orders"), "an owner of orders changed"),
        ("/brokers/topics/orders", "a topic changed"),
        ("/brokers/ids", "a broker started or stopped"),
        ("/consumers/groups/g/channel/a/1", "the coordinator sent a command"),
        ("/elsewhere", "/elsewhere changed"),
    ],
)
def test_a_node_without_a_visible_change_is_described(node: str, text: str) -> None:
    assert events([node, node], PATHS, "a", group("a"), group("a")) == text


def test_other_causes_stay_and_a_first_look_names_no_members() -> None:
    none = Snapshot({}, {})
    assert events(["start", "joined"], PATHS, "a", none, group("a", "b")) == "start, joined"
    assert events(["joined", PATHS.ids], PATHS, "a", group("b"), group("a", "b")) == "joined"
