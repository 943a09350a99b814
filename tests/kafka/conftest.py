from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.members import KafkaGroup, kafka_group_of
from zkgroup_sandbox import Sandbox


@pytest.fixture
def group(sandbox_41: Sandbox) -> Iterator[KafkaGroup]:
    with kafka_group_of(sandbox_41) as made:
        yield made
