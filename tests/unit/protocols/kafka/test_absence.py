from __future__ import annotations

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.absence import GONE_AFTER_S, gone, missing_since

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


def test_one_answer_without_it_is_not_enough() -> None:
    since = missing_since({}, [P], {}, 10.0)
    assert since == {P: 10.0}
    assert gone(since, 10.0) == set()


def test_what_is_missing_from_each_answer_for_long_enough_is_gone() -> None:
    since = missing_since({}, [P, Q], {"t": [1]}, 10.0)
    since = missing_since(since, [P, Q], {"t": [1]}, 10.0 + GONE_AFTER_S)
    assert gone(since, 10.0 + GONE_AFTER_S) == {P}


def test_an_answer_that_shows_it_restarts_the_time() -> None:
    since = missing_since({}, [P], {}, 10.0)
    since = missing_since(since, [P], {"t": [0]}, 14.0)
    assert since == {}
    since = missing_since(since, [P], {}, 15.0)
    assert gone(since, 16.0) == set()


def test_what_is_not_doubted_any_more_is_forgotten() -> None:
    assert missing_since({P: 10.0}, [], {}, 20.0) == {}
