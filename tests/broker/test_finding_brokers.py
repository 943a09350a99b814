"""Where brokers and partitions are learned from: ZooKeeper where brokers register, else Kafka."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import ServerError
from tests.harness.group import Group, all_rows, group_of, known, missing, settle, twice
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def without_bootstrap(options: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in options.items() if k != "kafka.bootstrap.servers"}


def test_brokers_that_register_in_zookeeper_need_no_option(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 4)
    query = group.query_of(without_bootstrap(group.options(topic)))
    query.until(8)
    assert missing(group, query.rows) == []


def test_a_chroot_that_no_broker_knows_is_an_error_that_says_so(group: Group) -> None:
    options = without_bootstrap(group.options(group.topic(1)))
    options["zookeeper.connect"] = group.sandbox.zookeeper_connect
    with pytest.raises(
        ServerError, match=r"/brokers/ids does not exist.*kafka.bootstrap.servers is not set"
    ):
        group.query_of(options).trigger()


def test_brokers_that_are_only_late_are_waited_for(group: Group) -> None:
    """Brokers have registered under this chroot before, but none is up right now."""
    chroot = f"{group.options()['zookeeper.connect']}/{group.name}-late"
    group.client.ensure_path(f"/{group.name}-late/brokers/ids")
    options = {**without_bootstrap(group.options("t")), "zookeeper.connect": chroot}
    query = group.query_of(options)
    assert query.trigger() == 0
    assert "no broker is registered in /brokers/ids yet" in known(query)["notes"]


def test_kraft_brokers_register_nowhere_and_topics_come_from_kafka(sandbox_41: Sandbox) -> None:
    with group_of(sandbox_41) as group:
        topic = group.topic(3)
        group.produce(topic, 4)
        a, b = (group.query(topic, refresh="1000") for _ in range(2))
        settle(a, b)
        assert len(a.held) + len(b.held) == 3
        group.sandbox.add_partitions(topic, 5)
        group.produce(topic, 4)

        def all_read() -> bool:
            a.trigger()
            b.trigger()
            return len(all_rows(a, b)) >= 32

        wait_until(all_read, 20, "the new partitions to be read", interval_s=0.0)
        assert missing(group, all_rows(a, b)) == [] == twice(all_rows(a, b))
        with pytest.raises(ServerError, match=r"kafka.bootstrap.servers is not set"):
            group.query_of(without_bootstrap(group.options(topic))).trigger()
