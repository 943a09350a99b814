"""A member that no ZooKeeper server answers right before it plans."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.memberships import KINDS, settle

EACH = 5


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator"])
def test_it_plans_on_while_its_session_surely_lives_and_says_so(
    request: pytest.FixtureRequest, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    with KINDS["fakes"].of(protocol, request) as members:
        topic = members.made.topic(2)
        members.made.produce(topic, EACH)
        query: Any = members.query(topic, session_ms=20_000)
        settle(query, partitions=2)
        assert query.membership.prove()
        query.process.access.set_way("refused")
        query.clock.sleep(1.0)
        assert query.membership.prove()
        assert "ZKG-115" in caplog.text
        assert query.membership.keeper.offline_since is not None
        query.clock.sleep(20.0)
        assert not query.membership.prove()


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator"])
def test_the_end_of_an_outage_is_logged(
    request: pytest.FixtureRequest, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    with KINDS["fakes"].of(protocol, request) as members:
        topic = members.made.topic(2)
        query: Any = members.query(topic, session_ms=20_000)
        settle(query, partitions=2)
        query.process.access.set_way("refused")
        members.made.produce(topic, EACH)
        query.trigger()
        assert query.membership.keeper.offline_since is not None
        query.process.access.set_way("up")
        settle(query, partitions=2)
        assert query.membership.keeper.offline_since is None
