"""What a member with a coordinator announces about itself."""

from __future__ import annotations

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.coordinator.membership import registration_of
from tests.harness.given_options import LEAST


def test_only_a_member_with_a_member_id_is_static() -> None:
    given = {**LEAST, "protocol": "coordinator"}
    assert not registration_of(parse(given)).static_id
    assert registration_of(parse({**given, "member.id": "m1"})).static_id


def test_internal_topics_are_asked_for_where_they_are_not_excluded() -> None:
    given = {**LEAST, "protocol": "coordinator"}
    assert not registration_of(parse(given)).internal
    assert registration_of(parse({**given, "exclude.internal.topics": "false"})).internal
