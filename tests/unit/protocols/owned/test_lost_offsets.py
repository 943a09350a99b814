"""What is written in the place of an offset node that is lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.lost_offsets import LostOffsets
from tests.fakes.still_clock import StillClock

P = TopicPartition("t", 0)
EARLIEST = 3


@pytest.mark.parametrize(
    ("remembered", "in_kafka", "written"),
    [(7, 9, 9), (7, 5, 7), (7, None, 7), (None, 9, 9), (None, 0, 0), (None, None, EARLIEST)],
)
def test_a_position_that_another_member_read_on_from_is_written_after_a_minute(
    remembered: int | None, in_kafka: int | None, written: int
) -> None:
    """It is the last resort: the member that read the partition last knows more."""
    holdings = Holdings()
    if remembered is not None:
        holdings.remembered[P] = remembered
        holdings.stale.add(P)
    clock = StillClock()
    context: Any = SimpleNamespace(holdings=holdings, clock=clock, paths=GroupPaths("g"))
    stored = {} if in_kafka is None else {P: StoredOffset(in_kafka)}
    lost = LostOffsets()
    lost.seen.add(P)

    def rebuild() -> tuple[list[TopicPartition], dict[TopicPartition, int]]:
        positions: dict[TopicPartition, int] = {}
        now = lost.rebuild(context, positions, [P], {P: EARLIEST}, stored, waiting)
        return now, positions

    waiting: dict[TopicPartition, str] = {}
    assert rebuild() == ([], {})
    assert "may restore it within 60 s" in waiting[P]
    clock.sleep(59.5)
    assert rebuild() == ([], {})
    clock.sleep(0.5)
    assert rebuild() == ([P], {P: written})
