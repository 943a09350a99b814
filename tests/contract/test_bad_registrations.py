"""A registration that cannot be read, or whose pattern cannot be, next to a member."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.memberships import KINDS, settle

EACH = 5
UNREADABLE = b"{"
UNSUPPORTED = b'{"version":1,"subscription":{"(?<=a)b":1},"pattern":"white_list","timestamp":"1"}'


@pytest.mark.parametrize(
    ("data", "expected", "other"), [(UNREADABLE, "ZKG-118", "119"), (UNSUPPORTED, "ZKG-119", "118")]
)
def test_it_is_named_once_with_what_follows_from_it(
    request: pytest.FixtureRequest,
    data: bytes,
    expected: str,
    other: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with KINDS["fakes"].of("zookeeper", request) as members:
        made: Any = members.made
        topic = made.topic(2)
        made.produce(topic, EACH)
        query: Any = members.query(topic)
        settle(query, partitions=2)
        made.client.create(made.paths.id("g_other"), data, makepath=True)
        for _ in range(10):
            query.trigger()
        assert sum(expected in message for message in caplog.messages) == 1
        assert f"ZKG-{other}" not in caplog.text
        assert "g_other" in caplog.text
