from __future__ import annotations

import pytest

from pyspark_zkgroup.kafka.outcome import (
    Again,
    Failed,
    NothingLeft,
    Outcome,
    OutOfRange,
    Read,
    TakesTurn,
    judge,
)
from pyspark_zkgroup.kafka.wire import BrokerError, FetchedPartition
from pyspark_zkgroup.model import TopicPartition
from tests.harness.record_batches import Record, batch

TP = TopicPartition("t", 0)
DATA = batch([Record(10), Record(11)])


def of(
    records: bytes = b"",
    *,
    error: BrokerError | None = None,
    end: int = 100,
    first: bool = True,
    until: int = 50,
) -> Outcome:
    fetched = FetchedPartition(TP, error, end, memoryview(records))
    return judge(fetched, position=10, until=until, is_served_first=first)


def test_records_are_read() -> None:
    assert of(DATA) == Read(len(DATA), 12)
    assert of(DATA, first=False) == Read(len(DATA), 12)


def test_a_gap_up_to_the_end_of_the_range_is_read_as_nothing() -> None:
    assert of(batch([Record(60)])) == Read(0, 50)


def test_no_records_below_the_end_of_the_log_means_that_none_are_left() -> None:
    assert of() == NothingLeft()
    assert of(end=50) == NothingLeft()


def test_no_records_behind_another_partition_means_nothing() -> None:
    assert of(first=False) == TakesTurn()
    assert of(end=20, first=False) == TakesTurn()


def test_a_log_that_ends_in_the_range_may_grow() -> None:
    outcome = of(end=49)
    assert isinstance(outcome, Again)
    assert outcome.log_end == 49
    assert outcome.leader_moved  # perhaps: a former leader's log ends too early


def test_a_part_of_a_batch_is_fetched_again() -> None:
    assert of(DATA[:-1], first=False) == TakesTurn()
    assert isinstance(of(DATA[:-1]), Again)


def test_only_records_before_the_position_are_no_progress() -> None:
    outcome = of(batch([Record(5)]))
    assert isinstance(outcome, Again)
    assert "before that offset" in outcome.reason


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (BrokerError(1, "OffsetOutOfRange", retryable=False), OutOfRange),
        (BrokerError(6, "NotLeaderForPartition", retryable=True), Again),
        (BrokerError(29, "TopicAuthorizationFailed", retryable=False), Failed),
    ],
)
def test_what_brokers_answer_instead(error: BrokerError, kind: type[Outcome]) -> None:
    outcome = of(error=error)
    assert isinstance(outcome, kind)
    if isinstance(outcome, Again):
        assert outcome.leader_moved
    if isinstance(outcome, Failed):
        assert "TopicAuthorizationFailed (29)" in outcome.reason


def test_bytes_that_are_no_batch_fail() -> None:
    assert isinstance(of(b"\x00" * 40), Failed)


def test_a_partition_that_is_not_mentioned_is_asked_again() -> None:
    outcome = judge(None, position=1, until=2, is_served_first=True)
    assert isinstance(outcome, Again)
    assert outcome.leader_moved
