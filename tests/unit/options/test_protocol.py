"""The option protocol, and the options that each protocol requires or refuses."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse
from tests.harness.given_options import LEAST

COORDINATED = {**LEAST, "protocol": "coordinator"}


def test_a_driver_is_a_candidate_by_default() -> None:
    assert parse(COORDINATED).protocol.is_candidate
    assert not parse({**COORDINATED, "coordinator.candidate": "false"}).protocol.is_candidate


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({**LEAST, "coordinator.candidate": "true"}, "'protocol' is zookeeper by default"),
        (
            {**COORDINATED, "partition.assignment.strategy": "range"},
            "'partition.assignment.strategy' is 'range', but 'protocol' is 'coordinator'",
        ),
        (
            {**COORDINATED, "partition.assignment.order": "old"},
            "'partition.assignment.order' is 'old', but 'protocol' is 'coordinator'",
        ),
        (
            {"zookeeper.connect": "zk", "group.id": "g", "protocol": "coordinator"}
            | {"assign": '{"orders": [0]}'},
            "but 'protocol' is 'coordinator'",
        ),
        ({**LEAST, "protocol": "gossip"}, "zookeeper or coordinator"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError) as raised:
        parse(options)
    assert named in f"{raised.value}"
    assert raised.value.remedy


def test_a_batch_read_is_no_member() -> None:
    """The protocol tells it where the group's offsets are, and that is all."""
    assert parse(COORDINATED, "batch").protocol.name == "coordinator"
    with pytest.raises(OptionError, match=r"'coordinator\.candidate' is 'true', but a batch read"):
        parse({**COORDINATED, "coordinator.candidate": "true"}, "batch")
