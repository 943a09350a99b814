"""What users and other members get wrong: named, with a remedy, and nothing written or lost."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import OffsetBeyondEndError, OptionError, ServerError
from tests.harness.group import Group, all_rows, known, missing, settle, twice, waits_for
from zkgroup_sandbox.ports import free_ports


def closed_port() -> str:
    (port,) = free_ports(1)
    return f"127.0.0.1:{port}"


def test_an_unreachable_zookeeper(group: Group) -> None:
    topic = group.topic(1)
    address = closed_port()
    changes: dict[str, Any] = {
        "zookeeper_connect": address,
        "zookeeper_connection_timeout_ms": "500",
    }
    with pytest.raises(ServerError, match=rf"{address} did not answer within 500 ms") as raised:
        group.query(topic, **changes).trigger()
    assert "zookeeper.connect" in raised.value.remedy


def test_one_of_several_zookeepers_may_be_down(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 3)
    hosts, _, chroot = group.options()["zookeeper.connect"].partition("/")
    both = f"{closed_port()},{hosts}/{chroot}"
    group.query(topic, zookeeper_connect=both).until(3)


@pytest.mark.parametrize("what", ["brokers", "chroot", "beyond", "starting", "unnamed"])
def test_what_is_refused_leaves_zookeeper_as_it_was(
    group: Group, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    changes: dict[str, Any] = {}
    expected: type[Exception] = ServerError
    if what == "brokers":
        monkeypatch.setattr("pyspark_zkgroup.planning.cluster_view._TIMEOUT_S", 1.0)
        changes["bootstrap"] = closed_port()
        match = changes["bootstrap"]
    elif what == "chroot":
        changes["zookeeper_connect"] = group.options()["zookeeper.connect"] + "/missing"
        match = r"chroot /kafka/missing .* does not exist"
    elif what == "beyond":
        group.client.create(group.offset_path(topic, 1), b"9", makepath=True)
        expected = OffsetBeyondEndError
        match = rf"offset of {topic}-1 is 9, but the log ends at 3"
    elif what == "starting":
        changes["starting"] = f'{{"{topic}": {{"0": 0, "1": 7}}}}'
        expected, match = OptionError, rf"offset 7 for {topic}-1, which is beyond its end"
    else:
        changes["starting"] = f'{{"{topic}": {{"0": 0}}}}'
        expected, match = OptionError, f"{topic}-1"
    before = group.dump("/consumers")
    with pytest.raises(expected, match=match) as raised:
        group.query(topic, **changes).trigger()
    assert raised.value.remedy  # type: ignore[attr-defined]
    assert group.dump("/consumers") == before


def test_garbage_in_another_members_registration_is_skipped_loudly(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    group.client.create(f"/consumers/{group.name}/ids/junk", b"{not json", makepath=True)
    a = group.query(topic)
    a.until(6)
    assert missing(group, a.rows) == []
    (note,) = [n for n in known(a)["notes"] if "junk is excluded" in n]
    assert f"/consumers/{group.name}/ids/junk" in note
    assert "not json" in note


def test_garbage_in_an_offset_node_leaves_that_partition_unclaimed_and_named(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 3)
    node = group.offset_path(topic, 1)
    group.client.create(node, b"1 ", makepath=True)
    a = group.query(topic)
    a.until(6)
    assert waits_for(a, 1).startswith(f"{node} holds b'1 '")
    assert sorted(group.owners(topic)) == [0, 2]
    assert group.client.get(node)[0] == b"1 "
    group.client.set(node, b"1")
    b = group.query(topic)  # the newcomer makes every member look again
    settle(a, b)
    assert sorted(group.owners(topic)) == [0, 1, 2]
    rows = all_rows(a, b)
    assert missing(group, rows) == [(topic, 1, 0)]
    assert twice(rows) == []


def test_an_offset_that_is_below_zero_is_one_that_is_not_set(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 3)
    group.client.create(group.offset_path(topic, 0), b"-1", makepath=True)
    a = group.query(topic)
    a.until(3)
    assert missing(group, a.rows) == []


def test_a_checkpoint_of_another_group_is_refused(group: Group) -> None:
    from pyspark_zkgroup.errors import PlanError
    from tests.harness.spark_order import Checkpoint

    topic = group.topic(1)
    group.produce(topic, 3)
    checkpoint = Checkpoint()
    group.query(topic, checkpoint).trigger()
    with pytest.raises(PlanError, match=rf"written by group '{group.name}'.* to group 'other'"):
        group.query(topic, checkpoint, group_id="other").trigger()
