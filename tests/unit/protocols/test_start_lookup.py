"""Which questions about first positions the brokers are asked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.start_lookup import Starts, log_skipped, look_up_starts
from pyspark_zkgroup.ranges.positions import Starting, StartingOffsets, StartingTimes
from tests.fakes.brokers import FakeBrokers

T = [TopicPartition("t", n) for n in range(2)]


class Brokers(FakeBrokers):
    """Logs of the offsets 10 to 100; each record has its offset as its time."""

    def __init__(self) -> None:
        super().__init__({"t": 2})
        self.starts = dict.fromkeys(T, 10)
        self.asked: list[Mapping[TopicPartition, int]] = []
        self.silent: set[TopicPartition] = set()

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        self.asked.append(times)
        found = super().at_times(times)
        return {p: offset for p, offset in found.items() if p not in self.silent}


@pytest.mark.parametrize(
    ("starting", "known_topic", "first", "skipped", "asks"),
    [
        (StartingOffsets("earliest"), False, 10, {}, 0),
        (StartingOffsets("latest"), False, 100, dict.fromkeys(T, 90), 0),
        (StartingOffsets("latest"), True, 10, {}, 0),
        (StartingTimes(every=40), False, 40, {}, 1),
        (StartingTimes(every=40), True, 10, {}, 0),
    ],
)
def test_times_are_asked_for_only_if_they_apply(
    starting: Starting,
    known_topic: bool,
    first: int,
    skipped: dict[TopicPartition, int],
    asks: int,
) -> None:
    brokers = Brokers()
    found = look_up_starts(brokers, starting, T, known_topic=known_topic, may_lose=False)
    assert found.positions == dict.fromkeys(T, first)
    assert {p: n for p, n in found.skipped.items() if n} == skipped
    assert len(brokers.asked) == asks


def test_a_partition_whose_broker_did_not_answer_is_left_out() -> None:
    brokers = Brokers()
    brokers.silent = {T[1]}
    starting = StartingTimes(every=40)
    found = look_up_starts(brokers, starting, T, known_topic=False, may_lose=False)
    assert found == Starts({T[0]: 40}, {})


def test_skipped_records_are_logged_by_topic(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "pyspark_zkgroup.group")
    log_skipped("g", {})
    assert caplog.messages == []
    log_skipped("g", dict.fromkeys(T, 45))
    (said,) = caplog.messages
    assert "Group g is new to t: it starts at latest and skips 90 existing records" in said
