from __future__ import annotations

import pytest

from pyspark_zkgroup.group.paths import BROKER_IDS, GroupPaths, broker_path, topic_path
from pyspark_zkgroup.model import TopicPartition


def test_every_path_of_a_group() -> None:
    paths = GroupPaths("billing")
    partition = TopicPartition("orders", 7)
    assert paths.root == "/consumers/billing"
    assert paths.ids == "/consumers/billing/ids"
    assert paths.id("billing_h-1-ab") == "/consumers/billing/ids/billing_h-1-ab"
    assert paths.owners == "/consumers/billing/owners"
    assert paths.owner_topic("orders") == "/consumers/billing/owners/orders"
    assert paths.owner(partition) == "/consumers/billing/owners/orders/7"
    assert paths.offsets == "/consumers/billing/offsets"
    assert paths.offset_topic("orders") == "/consumers/billing/offsets/orders"
    assert paths.offset(partition) == "/consumers/billing/offsets/orders/7"


def test_paths_of_brokers_and_topics() -> None:
    assert topic_path("orders") == "/brokers/topics/orders"
    assert broker_path(3) == f"{BROKER_IDS}/3"


@pytest.mark.parametrize("group", ["", "a/b"])
def test_what_cannot_be_a_node_is_no_group(group: str) -> None:
    with pytest.raises(ValueError, match="not the name of a group"):
        GroupPaths(group)
