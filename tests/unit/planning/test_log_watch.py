"""When starts are asked for, and how long an end that is too low is doubted."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import LogEnd, Mark, TopicPartition
from pyspark_zkgroup.planning.log_watch import LogWatch
from pyspark_zkgroup.ranges.gaps import Gap
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock

P0, P1 = (TopicPartition("t", n) for n in range(2))


class Brokers(FakeBrokers):
    """Notes what it was asked. `open` has ends behind transactions that are still open; `denied`
    are partitions that a broker denies, with whether that is certain.
    """

    def __init__(self) -> None:
        super().__init__({"t": 2})
        self.asked: list[list[TopicPartition]] = []
        self.away = False
        self.open: dict[TopicPartition, int] = {}
        self.denied: dict[TopicPartition, bool] = {}

    def lacks(self, held: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, bool]:
        if self.away:
            raise ServerError("away")
        asked = {p: self.denied[p] for p in held if p in self.denied}
        return {**super().lacks(held), **asked}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: self.open.get(p, 3) for p in partitions}

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self.away:
            raise ServerError("away")
        self.asked.append(sorted(partitions))
        return super().earliest(partitions)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


def test_only_a_backlog_is_asked_about_when_it_is_new_and_then_now_and_again(
    clock: StillClock, brokers: Brokers
) -> None:
    watch = LogWatch(brokers, clock)
    assert watch.look({P0: 5, P1: 9}, {P0: LogEnd(5), P1: LogEnd(10)}) == []
    assert watch.look({P0: 5, P1: 9}, {P0: LogEnd(5), P1: LogEnd(11)}) == []
    assert brokers.asked == [[P1]]
    clock.now += 30
    assert watch.look({P0: 5, P1: 9}, {P0: LogEnd(6), P1: LogEnd(11)}) == []
    assert brokers.asked == [[P1], [P0, P1]]
    # Released and held again: the member that held it in between may have been slow.
    assert watch.look({P0: 5}, {P0: LogEnd(6)}) == []
    assert watch.look({P0: 5, P1: 9}, {P0: LogEnd(6), P1: LogEnd(11)}) == []
    assert brokers.asked == [[P1], [P0, P1], [P1]]


def test_an_offset_before_the_log_start_is_reported_at_once(
    clock: StillClock, brokers: Brokers
) -> None:
    brokers.starts[P0] = 7
    found = LogWatch(brokers, clock).look({P0: 5, P1: 0}, {P0: LogEnd(9), P1: LogEnd(9)})
    assert found == [Gap(P0, "passed", 5, 7, 9)]


def test_an_end_that_is_too_low_is_doubted_for_a_while(clock: StillClock, brokers: Brokers) -> None:
    watch = LogWatch(brokers, clock)
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []
    assert watch.unsure
    clock.now += 4.9
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []
    clock.now += 0.2
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == [Gap(P0, "beyond", 5, 0, 3)]


def test_an_end_that_comes_back_was_nothing(clock: StillClock, brokers: Brokers) -> None:
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5}, {P0: LogEnd(3)})
    clock.now += 4
    assert watch.look({P0: 5}, {P0: LogEnd(5)}) == []
    assert not watch.unsure
    clock.now += 4
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []


def test_waiting_for_an_unknown_log_start_ends(clock: StillClock, brokers: Brokers) -> None:
    brokers.away = True
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5}, {P0: LogEnd(3)})
    clock.now += 6
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []
    assert watch.unsure
    clock.now += 5
    assert not watch.unsure


def test_brokers_that_are_away_put_it_off(clock: StillClock, brokers: Brokers) -> None:
    brokers.starts[P0] = 7
    brokers.away = True
    watch = LogWatch(brokers, clock)
    assert watch.look({P0: 5}, {P0: LogEnd(9)}) == []
    brokers.away = False
    assert watch.look({P0: 5}, {P0: LogEnd(9)}) == [Gap(P0, "passed", 5, 7, 9)]


def test_an_open_transaction_is_no_end_of_the_log(
    clock: StillClock, brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    """Under read_committed nothing behind it is readable, but a member that reads all the same may
    have committed there.
    """
    brokers.open[P0] = 9
    watch = LogWatch(brokers, clock)
    for _ in range(4):
        assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []
        assert not watch.unsure
        clock.now += 6
    assert caplog.messages == []
    brokers.open[P0] = 4  # and then the topic is recreated
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == []
    assert watch.unsure
    clock.now += 6
    assert watch.look({P0: 5}, {P0: LogEnd(3)}) == [Gap(P0, "beyond", 5, 0, 4)]


def test_the_end_of_a_partition_that_is_being_deleted_is_the_newest_seen(
    clock: StillClock, brokers: Brokers
) -> None:
    """The order of a deletion: no broker tells the end any more; a boundary; the group learns."""
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5, P1: 9}, {P0: LogEnd(8), P1: LogEnd(9)})
    watch.look({P0: 5, P1: 9}, {P1: LogEnd(9)})
    brokers.topics = {}
    watch.let_go({P0: 5, P1: 9})
    assert watch.deleted(()) == [Gap(P0, "deleted", 5, 5, 8)]
    assert watch.deleted(()) == []
    watch.let_go({P0: 5, P1: 9})
    watch.told([Gap(P0, "deleted", 5, 5, 8)])
    clock.now += 1
    assert watch.deleted(()) == []


def test_a_partition_that_one_broker_denies_is_not_deleted_yet(
    clock: StillClock, brokers: Brokers
) -> None:
    """A topic has grown; a broker that lags tells the group of the new partition no more."""
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5, P1: 2}, {P0: LogEnd(5), P1: LogEnd(9)})
    brokers.denied[P1] = False
    watch.let_go({P1: 2})
    assert watch.deleted({P0}) == []
    assert watch.unsure
    clock.now += 1
    brokers.denied.clear()
    assert watch.deleted({P0}) == []
    assert not watch.unsure


def test_a_partition_that_is_denied_for_good_is_deleted(
    clock: StillClock, brokers: Brokers
) -> None:
    watch = LogWatch(brokers, clock)
    watch.look({P1: 2}, {P1: LogEnd(9)})
    brokers.denied[P1] = False
    watch.let_go({P1: 2})
    assert watch.deleted(()) == []
    brokers.denied[P1] = True
    assert watch.deleted(()) == []  # not asked more than once a second
    clock.now += 1
    assert watch.deleted(()) == [Gap(P1, "deleted", 2, 2, 9)]
    assert not watch.unsure


def test_a_partition_that_comes_back_was_not_deleted(clock: StillClock, brokers: Brokers) -> None:
    watch = LogWatch(brokers, clock)
    watch.look({P1: 2}, {P1: LogEnd(9)})
    brokers.denied[P1] = True
    watch.let_go({P1: 2})
    assert watch.deleted({P1}) == []
    assert watch.deleted(()) == []


def test_brokers_that_are_away_leave_a_vanished_partition_in_doubt(
    clock: StillClock, brokers: Brokers
) -> None:
    watch = LogWatch(brokers, clock)
    watch.look({P1: 2}, {P1: LogEnd(9)})
    brokers.away = True
    watch.let_go({P1: 2})
    assert watch.deleted(()) == []
    brokers.away, brokers.denied[P1] = False, True
    clock.now += 1
    assert watch.deleted(()) == [Gap(P1, "deleted", 2, 2, 9)]


def test_the_end_of_a_released_partition_is_forgotten(clock: StillClock, brokers: Brokers) -> None:
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5}, {P0: LogEnd(8)})
    watch.look({P1: 9}, {P1: LogEnd(9)})
    brokers.topics = {}
    watch.let_go({P0: 5})
    assert watch.deleted(()) == []


def test_a_recreated_topic_is_not_reported_again_by_zookeeper(
    clock: StillClock, brokers: Brokers
) -> None:
    """Its id has told, and the next batch was planned from the same ends. Then the member of a
    coordinator learns of the topic's new node with its next assignment.
    """
    watch = LogWatch(brokers, clock)
    watch.told([Gap(P0, "recreated", 9, 0, 4, 12)])
    assert watch.old_ends([P0, P1]) == {P1: None}
    # A later recreation may be one that no id has shown.
    assert watch.old_ends([P0]) == {P0: None}


def test_a_report_about_a_released_partition_is_forgotten(
    clock: StillClock, brokers: Brokers
) -> None:
    watch = LogWatch(brokers, clock)
    watch.told([Gap(P0, "recreated", 9, 0, 4, 12)])
    watch.look({P1: 9}, {P1: LogEnd(9)})
    assert watch.old_ends([P0]) == {P0: None}


def test_a_report_is_kept_while_the_partition_is_held(clock: StillClock, brokers: Brokers) -> None:
    """1. The topic's id shows the recreation. 2. ZooKeeper shows the topic's new node: nothing of
    the topic is planned before its logs' starts are known. 3. That step is interrupted, and other
    partitions are planned. 4. The step is repeated: its finding was reported in 1.
    """
    watch = LogWatch(brokers, clock)
    watch.look({P0: 9, P1: 9}, {P0: LogEnd(12), P1: LogEnd(9)})
    watch.told([Gap(P0, "recreated", 9, 0, 4, 12)])
    watch.look({P0: 0, P1: 9}, {P0: LogEnd(4), P1: LogEnd(9)})
    watch.look({P1: 9}, {P1: LogEnd(9)}, withheld=frozenset([P0]))
    assert watch.old_ends([P0]) == {}


def test_a_topic_id_that_brokers_do_not_know_any_more_tells_the_end_of_the_old_log(
    clock: StillClock, brokers: Brokers
) -> None:
    """What no id was seen of may be any log."""
    watch = LogWatch(brokers, clock)
    watch.trust({P0: (5, Mark(1, "a")), P1: (9, Mark(1))})
    assert watch.old_ends([P0, P1]) == {P1: None}
    brokers.denied[P0] = True
    assert watch.old_ends([P0, P1]) == {P0: 5, P1: None}
    assert watch.old_ends([P0]) == {P0: None}


def test_an_end_below_a_position_that_the_log_surely_has_is_no_doubt(
    clock: StillClock, brokers: Brokers
) -> None:
    """A new leader of the same log may still have to learn how far the log is committed. Without a
    look at the log before, nothing is sure.
    """
    lower = {P0: LogEnd(3, Mark(2, "a"))}
    watch = LogWatch(brokers, clock)
    watch.look({P0: 5}, {P0: LogEnd(5, Mark(1, "a"))})
    brokers.epoch_ends_of[P0] = 5
    watch.look({P0: 5}, lower)
    assert not watch.unsure
    fresh = LogWatch(brokers, clock)
    fresh.look({P0: 5}, lower)
    assert fresh.unsure
