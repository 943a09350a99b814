"""When a topic or a partition counts as deleted: not by one answer, and not at once."""

from __future__ import annotations

from pyspark_zkgroup.kafka.known_topics import MISSING_S, Answer, KnownTopics, TopicSeen
from pyspark_zkgroup.model import TopicPartition

FOUR = TopicSeen((0, 1, 2, 3), "a")
TWO = TopicSeen((0, 1), "a")


def told(
    known: KnownTopics,
    at: float,
    topic: TopicSeen | None,
    *,
    broker: int | None = 1,
    brokers: int = 3,
) -> KnownTopics:
    return known.after(Answer(at, broker, brokers, {} if topic is None else {"t": topic}))


def test_a_first_answer_and_growth_are_believed_at_once() -> None:
    known = told(KnownTopics(), 0, TWO)
    assert known.partitions == {"t": (0, 1)}
    assert told(known, 0, FOUR).partitions == {"t": (0, 1, 2, 3)}


def test_a_broker_that_lags_after_a_partition_increase_takes_nothing_away() -> None:
    known = told(KnownTopics(), 0, FOUR)
    known = told(known, 1, TWO, broker=2)
    assert known.partitions == {"t": (0, 1, 2, 3)}
    known = told(known, 2, FOUR, broker=3)
    assert not known.missing
    known = told(known, 1 + MISSING_S, TWO, broker=2)
    assert known.partitions == {"t": (0, 1, 2, 3)}


def test_what_two_brokers_miss_after_a_while_is_deleted() -> None:
    known = told(KnownTopics(), 0, FOUR)
    known = told(known, 1, None, broker=2)
    known = told(known, 2, None, broker=3)
    known = told(known, 1 + MISSING_S, None, broker=2)
    assert known.partitions == {"t": (0, 1, 2, 3)}
    assert known.denied_by == {2}
    assert told(known, 2 + MISSING_S, None, broker=2).partitions
    assert told(known, 2 + MISSING_S, None, broker=None).partitions
    assert told(known, 2 + MISSING_S, None, broker=1).partitions == {}


def test_the_only_broker_needs_no_second_one() -> None:
    known = told(KnownTopics(), 0, FOUR, brokers=1)
    known = told(known, 1, None, brokers=1)
    assert known.partitions
    assert told(known, 1 + MISSING_S, None, brokers=1).partitions == {}


def test_a_topic_with_another_id_takes_its_place_after_the_same_doubt() -> None:
    anew = TopicSeen((0, 1, 2, 3, 4), "b")
    known = told(told(KnownTopics(), 0, FOUR, brokers=1), 1, anew, brokers=1)
    assert known.topics["t"] == FOUR
    assert told(known, 1 + MISSING_S, anew, brokers=1).topics["t"] == anew


def test_an_id_that_becomes_known_is_taken_over() -> None:
    known = told(told(KnownTopics(), 0, TopicSeen((0, 1))), 1, TWO)
    assert known.topics["t"] == TWO
    assert told(known, 2, TopicSeen((0, 1))).topics["t"] == TWO


def test_a_held_partition_is_assumed_until_it_has_been_missing() -> None:
    known = told(KnownTopics(), 0, TWO, brokers=1).assuming({TopicPartition("t", 2): ""})
    known = told(known.assuming({TopicPartition("u", 7): ""}), 1, TWO, brokers=1)
    assert known.partitions == {"t": (0, 1, 2), "u": (7,)}
    there, beyond, other = (TopicPartition(*p) for p in (("t", 1), ("t", 2), ("u", 7)))
    held = {there: "", beyond: "", other: ""}
    assert known.lacks(held) == {there: False, beyond: False, other: False}
    known = told(known, 1 + MISSING_S, TWO, brokers=1)
    assert known.partitions == {"t": (0, 1)}
    assert known.lacks(held) == {beyond: True, other: True}


def test_a_partition_of_a_recreated_topic_is_missing_though_its_name_exists() -> None:
    held = {TopicPartition("t", 1): "older"}
    known = told(told(KnownTopics(), 0, TWO, brokers=1).assuming(held), 1, TWO, brokers=1)
    assert known.lacks(held) == {TopicPartition("t", 1): False}
    known = told(known, 1 + MISSING_S, TWO, brokers=1)
    assert known.lacks(held) == {TopicPartition("t", 1): True}
    assert known.lacks({TopicPartition("t", 1): "a"}) == {}


def test_what_a_look_for_new_topics_has_found_gone_is_not_doubted_again() -> None:
    """A busy query looks for new topics each second, and that look is the first to be sure."""
    held = {TopicPartition("t", 0): "a"}
    known = told(KnownTopics().assuming(held), 0, TopicSeen((0,), "b"))
    assert known.lacks(held) == {TopicPartition("t", 0): False}
    for broker in (1, 2):
        known = told(known, MISSING_S, TopicSeen((0,), "b"), broker=broker)
    known = told(known.assuming(held), MISSING_S + 1, TopicSeen((0,), "b"))
    assert known.lacks(held) == {TopicPartition("t", 0): True}
    assert known.assuming({TopicPartition("t", 0): ""}).lacks({TopicPartition("t", 0): "b"}) == {}
