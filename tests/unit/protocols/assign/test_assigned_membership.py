"""What a query with `assign` is built of."""

from __future__ import annotations

from typing import Any

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.assign.membership import assigned_membership
from tests.fakes.brokers import FakeBrokers
from tests.harness.given_options import WITHOUT_TOPICS


def test_a_query_with_assign_is_no_member_that_could_be_asked_to_leave() -> None:
    context: Any = None
    plan: Any = None
    brokers: Any = FakeBrokers({"orders": 1})
    options = parse({**WITHOUT_TOPICS, "assign": '{"orders":[0]}', "member.id": "one"})
    query = assigned_membership(options, brokers)
    assert query.requests is None
    assert query.offset_watch is None
    assert not query.joining.entry.precedes_replay(context, plan), "a replay needs no registration"
    assert not query.keeper.member.static
