from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.sandbox import Sandbox
from tests.kafka.members import KafkaGroup, kafka_group_of


@pytest.fixture
def group(sandbox_41: Sandbox) -> Iterator[KafkaGroup]:
    with kafka_group_of(sandbox_41) as made:
        yield made
