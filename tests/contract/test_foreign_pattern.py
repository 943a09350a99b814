"""A JVM member with a pattern that zkgroup does not support: what other members own is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from tests.contract.memberships import KINDS, settle
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until

EACH = 5
PATTERN = "(?<!a).*"
STALLING = "((((((((.*)*)*)*)*)*)*)*)*!"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_pattern_refuses_a_join_and_later_stops_the_assignment(
    request: pytest.FixtureRequest, kind: str
) -> None:
    with KINDS[kind].of("zookeeper", request) as members:
        topic = members.made.topic(4)
        members.made.produce(topic, EACH)
        first = members.query(topic)
        settle(first, partitions=4)
        foreign = f"{members.made.name}_jvm"
        path = GroupPaths(members.made.name).id(foreign)
        data = encode_registration(Registration(Subscription.white_list(PATTERN, 1), "1"))
        client: Any = members.made.client  # type: ignore[union-attr]
        client.create(path, data, makepath=True)
        with pytest.raises(SubscriptionError) as refused:
            members.query(topic).trigger()
        assert foreign in f"{refused.value}"
        assert repr(PATTERN) in f"{refused.value}"

        members.made.produce(topic, EACH)
        wait_until(lambda: _reads(first, 8 * EACH), 20, "all to be read", clock=first.clock)
        notes = first.membership.status()["notes"]
        assert any(foreign in note and "is not supported" in note for note in notes)

        client.delete(path)
        second = members.query(topic)
        settle(first, second, partitions=4)
        assert len(second.membership.holdings.held) == 2


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_pattern_made_to_stall_members_costs_them_nothing(
    request: pytest.FixtureRequest, kind: str
) -> None:
    """A backtracking matcher would not finish with a name of 25 letters."""
    with KINDS[kind].of("zookeeper", request) as members:
        topic = members.made.topic(2)
        members.made.produce(topic, EACH)
        path = GroupPaths(members.made.name).id(f"{members.made.name}_jvm")
        hostile = Registration(Subscription.white_list(STALLING, 1), "1")
        client: Any = members.made.client  # type: ignore[union-attr]
        client.create(path, encode_registration(hostile), makepath=True)
        query = members.query(topic)
        wait_until(lambda: _reads(query, 2 * EACH), 20, "all to be read", clock=query.clock)


def _reads(query: Query, rows: int) -> bool:
    query.trigger()
    return len(query.rows) == rows
