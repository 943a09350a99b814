"""Logs compared with earlier looks: truncated and grown again, recreated, or reported late."""

from __future__ import annotations

import logging

import pytest

from pyspark_zkgroup.model import NO_MARK, LogEnd, Mark, TopicPartition
from pyspark_zkgroup.planning.log_watch import LogWatch
from pyspark_zkgroup.ranges.gaps import Gap, remedy
from pyspark_zkgroup.ranges.log_marks import SeenEnd, anew, change, cut
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock

P0 = TopicPartition("t", 0)
E1, E3 = Mark(1, "a"), Mark(3, "a")


class Brokers(FakeBrokers):
    """`denied`: whether a topic with the id that was asked for is surely not there."""

    def __init__(self) -> None:
        super().__init__({"t": 1})
        self.denied: bool | None = None
        self.asked: list[dict[TopicPartition, str]] = []

    def lacks(self, held: object) -> dict[TopicPartition, bool]:
        assert isinstance(held, dict)
        self.asked.append(held)
        return {} if self.denied is None else dict.fromkeys(held, self.denied)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def watch(brokers: Brokers, clock: StillClock) -> LogWatch:
    return LogWatch(brokers, clock)


@pytest.mark.parametrize(
    ("seen", "told", "expected"),
    [
        (E1, E1, "same"),
        (E1, E3, "later"),
        (E3, E1, "earlier"),
        (Mark(3), Mark(1), "earlier"),
        (E3, Mark(0, "b"), "other"),
        (E3, Mark(5, "b"), "other"),
        (E1, NO_MARK, "same"),
        (NO_MARK, E1, "same"),
        (Mark(-1, "a"), Mark(2, "a"), "same"),
    ],
)
def test_a_mark_compared_with_the_one_seen_before(seen: Mark, told: Mark, expected: str) -> None:
    assert change(seen, told) == expected


@pytest.mark.parametrize(
    ("position", "epoch_end", "expected"),
    [
        pytest.param(100, 100, None, id="all of it is there"),
        pytest.param(100, 120, None, id="the old epoch went on"),
        pytest.param(100, 60, (60, 0), id="all was read, and is read again from the cut"),
        pytest.param(70, 60, (60, 30), id="some was read"),
        pytest.param(50, 60, (50, 40), id="what was cut was not read yet"),
    ],
)
def test_a_log_that_was_cut(
    position: int, epoch_end: int, expected: tuple[int, int] | None
) -> None:
    gap = cut(P0, position, SeenEnd(100, E1), LogEnd(110, E3), epoch_end)
    assert (None if gap is None else (gap.start, gap.lost)) == expected


def test_the_report_of_a_truncated_log() -> None:
    gap = cut(P0, 70, SeenEnd(100, E1), LogEnd(110, E3), 60)
    assert gap is not None
    assert "offsets 60 to 99 were lost. The group's offset is 70, so 30 of them were" in gap.what
    assert gap.what.endswith(" the log ends at 110")
    assert gap.going_on.endswith(" 60")
    assert "/offset to 60" in remedy(gap, "/offset")


def test_a_recreated_topic_loses_records_that_were_seen_but_not_read() -> None:
    gap = anew(P0, 70, SeenEnd(100, E1), LogEnd(500, Mark(0, "b")), 0)
    assert gap == Gap(P0, "recreated", 70, 0, 500, 100)
    assert gap.lost == 30
    assert "30 records of the old topic were not read" in gap.what
    assert anew(P0, 0, SeenEnd(0, E1), LogEnd(5, Mark(0, "b")), 0) is None


def test_a_log_that_is_cut_and_grows_beyond_the_position_is_read_on_from_the_cut(
    watch: LogWatch, brokers: Brokers
) -> None:
    """Position 100; cut to 60 by an unclean election; 50 new records before the next look."""
    assert watch.look({P0: 100}, {P0: LogEnd(100, E1)}) == []
    brokers.epoch_ends_of[P0] = 60
    found = watch.look({P0: 100}, {P0: LogEnd(110, E3)})
    assert found == [Gap(P0, "truncated", 100, 60, 110, 100, 60)]
    watch.told(found)
    assert watch.look({P0: 60}, {P0: LogEnd(110, E3)}) == []
    assert watch.mark(P0, 110) == E3


def test_a_restart_trusts_its_checkpoint_and_finds_the_cut(
    watch: LogWatch, brokers: Brokers
) -> None:
    watch.trust({P0: (100, E1)})
    brokers.epoch_ends_of[P0] = 60
    (gap,) = watch.look({P0: 100}, {P0: LogEnd(200, E3)})
    assert (gap.kind, gap.start, gap.seen) == ("truncated", 60, 100)


@pytest.mark.parametrize("position", [60, 130])
def test_the_checkpoint_does_not_count_where_another_process_has_moved_the_position(
    watch: LogWatch, brokers: Brokers, position: int
) -> None:
    """An operator has set it back to where the log was cut, or another member has read on."""
    watch.trust({P0: (100, E1)})
    brokers.epoch_ends_of[P0] = 60
    assert watch.look({P0: position}, {P0: LogEnd(200, E3)}) == []
    assert watch.mark(P0, 200) == E3


def test_a_clean_election_costs_one_question_and_nothing_else(
    watch: LogWatch, brokers: Brokers
) -> None:
    watch.look({P0: 100}, {P0: LogEnd(100, E1)})
    brokers.epoch_ends_of[P0] = 100
    # Its high watermark lags behind, which is no loss either.
    assert watch.look({P0: 100}, {P0: LogEnd(90, E3)}) == []
    assert not watch.doubted
    assert not watch.unsure
    brokers.epoch_ends_of.clear()
    assert watch.look({P0: 100}, {P0: LogEnd(120, E3)}) == []


def test_nothing_is_read_while_the_new_leader_does_not_tell(
    watch: LogWatch, brokers: Brokers
) -> None:
    watch.look({P0: 100}, {P0: LogEnd(100, E1)})
    assert watch.look({P0: 100}, {P0: LogEnd(110, E3)}) == []
    assert watch.doubted == {P0}
    assert watch.unsure
    brokers.epoch_ends_of[P0] = None  # a broker before 2.3 cannot tell
    assert watch.look({P0: 100}, {P0: LogEnd(110, E3)}) == []
    assert not watch.doubted


@pytest.mark.parametrize("end", [3, 5000])
def test_a_recreated_topic_is_recognised_by_its_id_however_long_its_log_is(
    watch: LogWatch, brokers: Brokers, clock: StillClock, end: int
) -> None:
    new = LogEnd(end, Mark(0, "b"))
    watch.look({P0: 100}, {P0: LogEnd(120, E1)})
    brokers.denied = False
    assert watch.look({P0: 100}, {P0: new}) == []
    assert watch.doubted == {P0}
    brokers.denied = True
    clock.now += 1
    assert watch.look({P0: 100}, {P0: new}) == [Gap(P0, "recreated", 100, 0, end, 120)]
    assert brokers.asked[-1] == {P0: "a"}
    assert not watch.doubted


def test_a_broker_that_still_names_the_old_topic_is_not_believed(
    watch: LogWatch, brokers: Brokers
) -> None:
    watch.trust({P0: (5, Mark(0, "b"))})
    assert watch.look({P0: 5}, {P0: LogEnd(120, E1)}) == []
    assert watch.doubted == {P0}
    assert watch.look({P0: 5}, {P0: LogEnd(9, Mark(0, "b"))}) == []
    assert not watch.doubted


def test_without_topic_ids_an_epoch_that_goes_back_for_long_is_another_topic(
    watch: LogWatch, clock: StillClock
) -> None:
    watch.look({P0: 100}, {P0: LogEnd(100, Mark(3))})
    assert watch.look({P0: 100}, {P0: LogEnd(500, Mark(0))}) == []
    assert watch.doubted == {P0}
    clock.now += 6
    found = watch.look({P0: 100}, {P0: LogEnd(500, Mark(0))})
    assert found == [Gap(P0, "recreated", 100, 0, 500, 100)]


def test_brokers_before_2_2_are_doubted_as_long_as_they_may_lag(
    watch: LogWatch, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    old = LogEnd(3, may_lag=True)
    brokers = watch.brokers
    assert isinstance(brokers, Brokers)
    brokers.end = 3
    assert watch.look({P0: 5}, {P0: old}) == []
    assert "35 s" in caplog.text
    for _ in range(3):
        clock.now += 11
        assert watch.look({P0: 5}, {P0: old}) == []
        assert watch.unsure
    clock.now += 11
    assert watch.look({P0: 5}, {P0: old}) == [Gap(P0, "beyond", 5, 0, 3)]
