from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import Sample, TopicPartition
from pyspark_zkgroup.options.batch_size import BatchLimits
from pyspark_zkgroup.planning.batch_size import BatchSize
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock

P0, P1, P2 = (TopicPartition("t", n) for n in range(3))


class Brokers(FakeBrokers):
    """Gives samples for only so many partitions of a request, the first ones, as brokers do."""

    def __init__(self) -> None:
        super().__init__({"t": 3})
        self.size_of: dict[TopicPartition, int] = {}
        self.room = 3
        self.away = False
        self.asked: list[list[TopicPartition]] = []

    def samples(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Sample]:
        if self.away:
            raise ServerError("away")
        self.asked.append(list(positions))
        given = list(positions)[: self.room]
        return {p: Sample(1, self.size_of.get(p, 10)) for p in given if self.size_of.get(p, 10)}


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


def starts(*partitions: TopicPartition) -> dict[TopicPartition, int]:
    return dict.fromkeys(partitions, 0)


def test_held_back_until_there_is_enough_or_time_is_over(
    clock: StillClock, brokers: Brokers
) -> None:
    size = BatchSize(BatchLimits(offsets_min=15, delay_max_ms=5000), brokers, clock)
    assert not size.holds_back(starts(P0), {P0: 1})
    size.planned()
    clock.now += 1.0
    assert size.holds_back(starts(P0, P1), {P0: 10, P1: 4})
    assert not size.holds_back(starts(P0, P1), {P0: 10, P1: 5})
    clock.now += 3.9
    assert size.holds_back(starts(P0), {P0: 1})
    clock.now += 0.2
    assert not size.holds_back(starts(P0), {P0: 1})
    size.planned()
    assert size.holds_back(starts(P0), {P0: 1})


def test_a_plan_that_was_not_taken_does_not_hold_back_the_one_in_its_place(
    clock: StillClock, brokers: Brokers
) -> None:
    size = BatchSize(BatchLimits(offsets_min=15), brokers, clock)
    size.planned()
    size.not_taken()
    assert not size.holds_back(starts(P0), {P0: 1})


def test_only_what_is_held_counts(clock: StillClock, brokers: Brokers) -> None:
    size = BatchSize(BatchLimits(offsets_min=15), brokers, clock)
    size.planned()
    latest = {P0: 10, P1: 10}
    assert not size.holds_back(starts(P0, P1), latest)
    assert size.holds_back(starts(P0), latest)


def test_each_delayed_batch_is_logged_once(
    clock: StillClock, brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    size = BatchSize(BatchLimits(offsets_min=15), brokers, clock)
    size.planned()
    with caplog.at_level(logging.INFO):
        size.holds_back(starts(P0), {P0: 0})
        assert not caplog.messages
        for _ in range(3):
            size.holds_back(starts(P0), {P0: 2})
        assert caplog.messages == [
            "Delaying the batch until 15 offsets can be read (minOffsetsPerTrigger; 2 now), "
            "or until 900 s after the last batch (maxTriggerDelay)"
        ]
        size.planned()
        size.holds_back(starts(P0), {P0: 3})
        assert len(caplog.messages) == 2


def test_without_a_limit_of_bytes_no_sample_is_asked_for(
    clock: StillClock, brokers: Brokers
) -> None:
    size = BatchSize(BatchLimits(offsets_max=10), brokers, clock)
    assert size.until(starts(P0, P1), {P0: 30, P1: 10}) == {P0: 7, P1: 2}
    assert brokers.asked == []


def test_both_limits_hold(clock: StillClock, brokers: Brokers) -> None:
    for offsets_max, expected in ((None, (7, 2)), (4, (3, 1)), (40, (7, 2))):
        size = BatchSize(BatchLimits(offsets_max, bytes_max=100), brokers, clock)
        until = size.until(starts(P0, P1), {P0: 30, P1: 10})
        assert (until[P0], until[P1]) == expected


def test_nothing_to_read_costs_no_sample(clock: StillClock, brokers: Brokers) -> None:
    size = BatchSize(BatchLimits(bytes_max=100), brokers, clock)
    assert size.until(starts(P0, P1), {P0: 0, P1: 5}) == {P0: 0, P1: 5}
    assert size.until(starts(P0, P1), {P0: 0, P1: 0}) == {P0: 0, P1: 0}
    assert brokers.asked == [[P1]]


def test_records_that_change_in_size_are_followed_with_the_next_batch(
    clock: StillClock, brokers: Brokers
) -> None:
    size = BatchSize(BatchLimits(bytes_max=1000), brokers, clock)
    latest = {P0: 10**6}
    assert size.until(starts(P0), latest) == {P0: 100}
    brokers.size_of[P0] = 1000
    assert size.until(starts(P0), latest) == {P0: 1}
    brokers.size_of[P0] = 1
    assert size.until(starts(P0), latest) == {P0: 1000}


def test_what_one_answer_has_no_room_for_is_asked_for_until_it_is_known(
    clock: StillClock, brokers: Brokers
) -> None:
    """Then the oldest sample is the first to be replaced."""
    brokers.room = 1
    size = BatchSize(BatchLimits(bytes_max=60), brokers, clock)
    latest = dict.fromkeys((P0, P1, P2), 100)
    assert size.until(starts(P0, P1, P2), latest) == {P0: 2, P1: 2, P2: 2}
    assert brokers.asked == [[P0, P1, P2], [P1, P2], [P2]]
    brokers.asked.clear()
    for first in (P0, P1, P2, P0):
        size.until(starts(P0, P1, P2), latest)
        assert brokers.asked[-1][0] == first
    assert len(brokers.asked) == 4


def test_one_that_is_never_answered_does_not_hold_up_the_batch(
    clock: StillClock, brokers: Brokers
) -> None:
    brokers.size_of[P1] = 0
    size = BatchSize(BatchLimits(bytes_max=60), brokers, clock)
    assert size.until(starts(P0, P1), {P0: 100, P1: 100}) == {P0: 6, P1: 1}
    assert brokers.asked == [[P0, P1], [P1]]


def test_old_samples_serve_while_no_broker_answers(
    clock: StillClock, brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    size = BatchSize(BatchLimits(bytes_max=60), brokers, clock)
    size.until(starts(P0), {P0: 100})
    brokers.away = True
    assert size.until(starts(P0, P1), {P0: 100, P1: 100}) == {P0: 6, P1: 1}
    assert "[ZKG-107]" in caplog.text


def test_what_is_not_held_any_more_is_forgotten(clock: StillClock, brokers: Brokers) -> None:
    size = BatchSize(BatchLimits(bytes_max=60), brokers, clock)
    latest = dict.fromkeys((P0, P1), 100)
    size.until(starts(P0, P1), latest)
    size.until(starts(P1), latest)
    brokers.away = True
    assert size.until(starts(P0, P1), latest) == {P0: 1, P1: 6}
