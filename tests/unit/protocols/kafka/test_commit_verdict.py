"""What an answer to a commit means, whatever codes are mixed in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning, meaning_of
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.commit_verdict import judge_commit

P, Q, R = (TopicPartition("t", n) for n in range(3))
OF_THE_MEMBER = {
    codes.FENCED_INSTANCE_ID,
    codes.UNKNOWN_MEMBER_ID,
    codes.ILLEGAL_GENERATION,
    codes.REBALANCE_IN_PROGRESS,
}
CODES = st.sampled_from([*(c for c in codes.NAMES if c != codes.SILENCE), 51, 9999])
ANSWERS = st.dictionaries(
    st.integers(0, 9).map(lambda n: TopicPartition("t", n)), CODES, min_size=1
)


@pytest.mark.parametrize("first", [3, 29])
@pytest.mark.parametrize("other", [22, 25, 27, 82])
def test_a_partition_refused_for_itself_hides_nothing_of_the_member(first: int, other: int) -> None:
    verdict = judge_commit([P, Q], {P: first, Q: other})
    assert not verdict.renews
    assert not verdict.goes_on
    if not (first == 29 and other == 27):
        assert (verdict.code, verdict.of) == (other, (Q,))


def test_a_partition_that_is_gone_keeps_nothing_else_from_being_sent() -> None:
    verdict = judge_commit([P, Q], {P: 3, Q: 0})
    assert (verdict.goes_on, verdict.renews, verdict.code) == (True, False, 3)
    assert verdict.outcomes == {P: Meaning.GONE, Q: Meaning.DONE}


def test_no_answer_is_a_doubt() -> None:
    verdict = judge_commit([P, Q], None)
    assert set(verdict.outcomes.values()) == {Meaning.IN_DOUBT}
    assert (verdict.renews, verdict.goes_on) == (False, False)


def test_a_coordinator_that_may_not_be_named_refuses_all() -> None:
    verdict = judge_commit([P], None, codes.GROUP_AUTHORIZATION_FAILED)
    assert (verdict.code, verdict.outcomes) == (30, {P: Meaning.REFUSED})


@given(ANSWERS, st.sets(st.sampled_from([P, Q, R])))
def test_what_every_answer_means(
    answer: dict[TopicPartition, int], unmentioned: set[TopicPartition]
) -> None:
    sent = answer.keys() | unmentioned
    verdict = judge_commit(sent, answer)
    assert verdict.outcomes.keys() == sent
    for partition in sent:
        code = answer.get(partition, codes.SILENCE)
        assert verdict.outcomes[partition] is meaning_of("commit", code)
    told = {answer.get(p, codes.SILENCE) for p in sent}
    assert verdict.renews == (told <= {codes.NONE, codes.REBALANCE_IN_PROGRESS})
    assert verdict.goes_on == (told <= {codes.NONE, codes.UNKNOWN_TOPIC_OR_PARTITION})
    assert verdict.code in told
    lost = told & (OF_THE_MEMBER - {codes.REBALANCE_IN_PROGRESS})
    if lost:
        assert meaning_of("commit", verdict.code) in {meaning_of("commit", c) for c in lost} | {
            Meaning.OLD_GENERATION,
            Meaning.UNKNOWN_MEMBER,
        }
    if told == {codes.NONE}:
        assert verdict.code == codes.NONE
