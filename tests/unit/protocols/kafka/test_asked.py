"""When a member looks for requests of operators."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.asked import Asked
from tests.fakes.still_clock import StillClock


def test_a_member_looks_as_soon_as_a_look_is_due() -> None:
    def connected() -> Any:
        raise ConnectionRefusedError

    clock = StillClock()
    kept: Any = SimpleNamespace(clock=clock, group="g", ids={"a"})
    asked = Asked(kept, connected)
    among = [TopicPartition("t", 0)]
    asked.look(among)
    assert not asked.is_due()
    clock.sleep(3)
    assert asked.is_due()
    with pytest.raises(ConnectionRefusedError):
        asked.look(among)
    assert not asked.is_due()
