"""A member that gives up its claims (max.poll.interval.ms) while no server can be reached."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.memberships import KINDS, settle
from tests.harness.group import twice

EACH = 5


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator", "light"])
@pytest.mark.parametrize("member_id", ["", "one"])
def test_it_comes_back_although_its_last_session_has_not_ended(
    request: pytest.FixtureRequest, protocol: str, member_id: str
) -> None:
    """The quorum is lost, the driver is silent for too long, the quorum is back, and so is the
    driver, all before the session that was given up has timed out. The session looked like another
    process under the same name, and the query ended.
    """
    with KINDS["fakes"].of(protocol, request) as members:
        topic = members.made.topic(2)
        members.made.produce(topic, EACH)
        query: Any = members.query(topic, member_id=member_id, session_ms=20_000)
        settle(query, partitions=2)
        query.process.access.set_way("refused")
        query.membership.give_up()
        query.process.access.set_way("up")
        members.made.produce(topic, EACH)
        query.trigger()  # Spark would end the query at the first error
        settle(query, partitions=2, deadline_s=60.0)
        assert sorted(query.rows) == [(topic, p, n) for p in range(2) for n in range(2 * EACH)]
        assert twice(query.rows) == []
