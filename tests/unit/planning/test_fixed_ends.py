"""Ends that were seen first and cannot be reached: doubted, told once, waited for, or an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.planning.fixed_ends import FixedEnds
from pyspark_zkgroup.ranges.gaps import Gap
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock

P0, P1, P2 = (TopicPartition("t", n) for n in range(3))


class Brokers(FakeBrokers):
    """`silent` partitions have no leader; `away`: not even their number is known."""

    def __init__(self) -> None:
        super().__init__({"t": 2}, end=10)
        self.silent: set[TopicPartition] = set()
        self.away = False

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: end for p, end in super().latest(partitions).items() if p not in self.silent}

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        if self.away:
            raise ServerError("away")
        return super().partitions()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


def test_nothing_is_read_beyond_them_nor_in_what_came_later(
    clock: StillClock, brokers: Brokers
) -> None:
    ends = FixedEnds(brokers, clock, [P0, P1])
    latest = {P0: 12, P1: 10, P2: 7}
    assert ends.look({P0: 4, P1: 10, P2: 0}, latest) == []
    assert ends.within({P0: 4, P1: 10, P2: 0}, latest) == {P0: 10, P1: 10, P2: 0}
    assert not ends.unsure


def test_an_end_that_is_too_low_is_doubted_then_reported_once(
    clock: StillClock, brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    ends = FixedEnds(brokers, clock, [P0, P1])
    starts, latest = {P0: 4, P1: 4}, {P0: 7, P1: 10}
    for _ in range(2):
        assert ends.look(starts, latest) == []
        assert ["ZKG-146" in message for message in caplog.messages] == [True]
    assert ends.unsure
    assert ends.within(starts, latest) == {P0: 4, P1: 10}, "whose records are they?"
    clock.now += 4.9
    assert ends.look(starts, latest) == []
    clock.now += 0.2
    (gap,) = ends.look(starts, latest)
    assert gap == Gap(P0, "cut", 7, 7, 10)
    assert gap.lost == 3
    assert ends.look(starts, latest) == []
    assert ends.within(starts, latest) == {P0: 7, P1: 10}
    assert not ends.unsure


def test_an_end_that_comes_back_was_a_leader_that_did_not_know(
    clock: StillClock, brokers: Brokers
) -> None:
    ends = FixedEnds(brokers, clock, [P0])
    assert ends.look({P0: 4}, {P0: 7}) == []
    clock.now += 4
    assert ends.look({P0: 4}, {P0: 10}) == []
    assert not ends.unsure
    assert ends.within({P0: 4}, {P0: 10}) == {P0: 10}
    clock.now += 4
    assert ends.look({P0: 4}, {P0: 7}) == []


@pytest.mark.parametrize(("position", "end"), [(10, 8), (7, 6)])
def test_what_was_read_to_its_end_and_what_lies_beyond_are_no_matter_of_this(
    clock: StillClock, brokers: Brokers, position: int, end: int
) -> None:
    """A position that its log does not reach is doubted by the log watch, and told by it."""
    ends = FixedEnds(brokers, clock, [P0])
    assert ends.look({P0: position}, {P0: end}) == []
    assert not ends.unsure
    ends.told([Gap(P0, "beyond", position, 0, end)])
    assert ends.look({P0: 0}, {P0: end}) == []
    assert not ends.unsure
    assert ends.within({P0: 0}, {P0: end}) == {P0: end}


def test_a_partition_that_is_gone_is_a_loss_after_a_while(
    clock: StillClock, brokers: Brokers
) -> None:
    ends = FixedEnds(brokers, clock, [P0, P1])
    brokers.topics["t"] = 1
    assert ends.look({P0: 10, P1: 4}, {P0: 10}) == []
    assert ends.unsure
    clock.now += 5
    brokers.away = True
    assert ends.look({P0: 10, P1: 4}, {P0: 10}) == []
    brokers.away = False
    assert ends.look({P0: 10, P1: 4}, {P0: 10}) == [Gap(P1, "deleted", 4, 4, 10)]
    assert ends.look({P0: 10, P1: 4}, {P0: 10}) == []
    assert not ends.unsure


def test_a_missing_leader_is_waited_for_only_for_a_time(
    clock: StillClock, brokers: Brokers
) -> None:
    ends = FixedEnds(brokers, clock, [P0, P1])
    ends.look({P0: 4, P1: 10}, {})
    assert ends.unsure
    clock.now += 59
    assert ends.look({P0: 4, P1: 10}, {}) == []
    clock.now += 2
    with pytest.raises(ServerError, match=r"log end offsets of t-0 for"):
        ends.look({P0: 4, P1: 10}, {})


def test_a_leader_that_was_away_at_first_tells_the_end_later(
    clock: StillClock, brokers: Brokers
) -> None:
    brokers.silent.add(P1)
    ends = FixedEnds(brokers, clock, [P0, P1])
    assert ends.look({P0: 10, P1: 4}, {P0: 10}) == []
    assert ends.unsure
    assert ends.look({P0: 10, P1: 4}, {P0: 10, P1: 8}) == []
    assert ends.within({P1: 4}, {P1: 9}) == {P1: 8}
    assert not ends.unsure
