"""What is known of transactions, and the gaps that they leave between offsets."""

from __future__ import annotations

import threading

import pytest
from kafka.errors import KafkaTimeoutError, ProducerFencedError

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.duplicates import lacking, size
from tests.chaos.transactions import Book, merged, within
from tests.chaos.verdict import produced_ranges

P = TopicPartition("t", 0)


def test_only_committed_records_are_wanted_and_markers_are_gaps() -> None:
    # 0 to 9 without a transaction, 10 to 12 committed with a marker behind, 14 to 16 aborted with
    # one behind, then 18 and 19.
    book = Book()
    book.commit({0: [10, 11, 12]})
    produced = produced_ranges(merged("t", ({0: [(0, 10), (18, 20)]}, book.ranges())))
    assert produced == {P: [(0, 13), (18, 20)]}
    assert size(lacking(produced, {P: [(0, 13), (18, 20)]})) == 0
    assert lacking(produced, {P: [(0, 12), (13, 20)]}) == {P: [(12, 13)]}
    # An aborted record that arrives was never produced.
    assert lacking({P: [(0, 13), (15, 16), (18, 20)]}, produced) == {P: [(15, 16)]}


def test_records_of_other_producers_lie_between_those_of_a_transaction() -> None:
    book = Book()
    book.commit({0: [4, 5, 9], 1: [7]})
    book.commit({0: [20]})
    assert book.ranges() == {0: [(4, 6), (9, 10), (20, 21)], 1: [(7, 8)]}
    assert merged("t", ({0: [(0, 4), (6, 9)]}, book.ranges())).ranges == {
        0: [(0, 10), (20, 21)],
        1: [(7, 8)],
    }


def test_of_a_commit_that_was_not_answered_the_topic_is_asked_once() -> None:
    book, asked = Book(), []

    def was_committed(partition: int, offset: int) -> bool:
        asked.append((partition, offset))
        return partition == 1

    book.doubtful = [{1: [3, 4], 2: [8]}, {2: [11, 12]}]
    book.settle(was_committed)
    assert asked == [(1, 3), (2, 11)]
    assert book.ranges() == {1: [(3, 5)], 2: [(8, 9)]}
    assert (book.aborted, book.doubtful) == (1, [])


def test_a_commit_that_no_broker_answers_is_given_up() -> None:
    answered = threading.Event()
    with pytest.raises(KafkaTimeoutError, match="did not end"):
        within(0.05, answered.wait)
    answered.set()
    within(10.0, answered.wait)


def test_what_the_end_of_a_transaction_raises_reaches_the_caller() -> None:
    def commit() -> None:
        raise ProducerFencedError("another one has its id")

    with pytest.raises(ProducerFencedError):
        within(10.0, commit)
