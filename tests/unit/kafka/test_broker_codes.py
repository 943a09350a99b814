"""The table of error codes: each once for a request, and only one of them a success."""

from __future__ import annotations

from collections import Counter

import kafka.errors
import pytest

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import REQUESTS, Meaning, Request, meaning_of

ALL = range(-2, 200)


def test_each_code_is_listed_once_for_a_request() -> None:
    listed = [
        (request, number)
        for number, _, meanings in codes._ROWS
        for requests in meanings.values()
        for request in requests.split(", ")
    ]
    assert [one for one, count in Counter(listed).items() if count > 1] == []
    assert {request for request, _ in listed} == set(REQUESTS)
    assert len({number for number, _, _ in codes._ROWS}) == len(codes._ROWS)


@pytest.mark.parametrize("request_", REQUESTS)
def test_only_none_is_a_success(request_: Request) -> None:
    assert [code for code in ALL if meaning_of(request_, code) is Meaning.DONE] == [codes.NONE]


def test_a_code_that_is_not_listed_leaves_a_commit_in_doubt() -> None:
    assert meaning_of("commit", 9999) is Meaning.IN_DOUBT
    assert meaning_of("heartbeat", 9999) is Meaning.UNLISTED


@pytest.mark.parametrize("code", [7, 15, 16, 19, 20, -1])
def test_what_a_broker_may_answer_after_the_append_leaves_a_commit_in_doubt(code: int) -> None:
    assert meaning_of("commit", code) is Meaning.IN_DOUBT


def test_the_names_are_kafkas() -> None:
    """kafka-python has some names from before they were changed."""
    others = {
        code: (name, kafka.errors.for_code(code).message)
        for code, name in codes.NAMES.items()
        if code not in (codes.SILENCE, -1, 0) and kafka.errors.for_code(code).message != name
    }
    assert others == {
        6: ("NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_FOR_PARTITION"),
        17: ("INVALID_TOPIC_EXCEPTION", "INVALID_TOPIC"),
    }


@pytest.mark.parametrize("request_", ["metadata", "list offsets", "fetch", "leader epochs"])
def test_reads_are_tried_again_where_kafkas_clients_try_again(request_: Request) -> None:
    again = (Meaning.AGAIN, Meaning.LOOK_UP, Meaning.GONE)
    for (request, code), meaning in codes.LISTED.items():
        if request == request_ and code != codes.SILENCE:
            expected = issubclass(kafka.errors.for_code(code), kafka.errors.RetriableError)
            assert (meaning in again) == expected, codes.named(code)
