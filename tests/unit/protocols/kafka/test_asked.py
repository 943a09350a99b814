"""When a member looks for requests of operators."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

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


@pytest.mark.parametrize(("code", "pause_s", "logged"), [(15, 10.0, 0), (30, 60.0, 1)])
def test_after_a_refusal_a_member_looks_less_often_and_logs_it_once(
    code: int, pause_s: float, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    """15: the coordinator is not available. 30: no right to read the group of requests."""
    caplog.set_level("INFO", "pyspark_zkgroup.group")
    requests: Any = SimpleNamespace(
        group="g.zkgroup-requests",
        ask=lambda _request, timeout_s: None,
        forget=lambda: None,
        unanswered=code,
        trouble="a trouble",
    )
    clock = StillClock()
    kept: Any = SimpleNamespace(clock=clock, group="g", ids={"a"})
    asked = Asked(kept, lambda: cast(Any, SimpleNamespace(of=lambda _group: requests)))
    clock.sleep(3)
    for _ in range(2):
        asked.look([TopicPartition("t", 0)])
        clock.sleep(pause_s - 1)
        assert not asked.is_due()
        clock.sleep(1)
        assert asked.is_due()
    assert len([line for line in caplog.messages if "a trouble" in line]) == logged
