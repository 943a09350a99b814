"""Which membership the options ask for."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.choice import membership
from tests.fakes.brokers import FakeBrokers
from tests.harness.given_options import LEAST, WITHOUT_TOPICS

KAFKA = {"kafka.bootstrap.servers": "b1:9092", "group.id": "billing", "subscribe": "orders"}


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        (LEAST, "zookeeper"),
        ({**LEAST, "protocol": "coordinator"}, "coordinator"),
        ({**KAFKA, "protocol": "light", "coordinator.addresses": "one:7000"}, "light"),
        ({**KAFKA, "protocol": "kafka"}, "kafka"),
        ({**WITHOUT_TOPICS, "assign": '{"orders":[0]}'}, "assign"),
    ],
)
def test_each_protocol_has_its_membership(options: dict[str, Any], protocol: str) -> None:
    brokers: Any = FakeBrokers({"orders": 1})
    assert membership(parse(options), brokers).protocol == protocol
