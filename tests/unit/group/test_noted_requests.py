"""Requests in the notes of offsets: where they are, who is asked, and when they are over."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pyspark_zkgroup.group.noted_requests import (
    Heard,
    NotedRequest,
    decode_note,
    encode_note,
    heard,
    is_requests_group,
    placed,
    places,
    requests_group,
    withdrawn,
)
from pyspark_zkgroup.model import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
WEEK_MS = 7 * 24 * 3_600_000
DRAIN = NotedRequest("drain", "a-1", "ops@host", 1000)
STOP = NotedRequest("stop", "b-2", "ops@host", 2000)


def test_the_requests_have_a_separate_group() -> None:
    assert requests_group("billing") == "billing.zkgroup-requests"
    assert is_requests_group(requests_group("billing"))
    assert not is_requests_group("billing")


@pytest.mark.parametrize(
    ("topics", "found"),
    [
        (("orders", "bills"), [("bills", 0), ("bills", 1)]),
        (("orders", "new"), [("orders", n) for n in range(64)]),
        ((), []),
    ],
)
def test_requests_are_in_the_first_topic_that_has_partitions(
    topics: tuple[str, ...], found: list[tuple[str, int]]
) -> None:
    numbers = {"orders": tuple(range(100)), "bills": (1, 0), "new": ()}
    assert places(topics, numbers) == tuple(TopicPartition(*one) for one in found)


def test_a_note_is_read_as_it_was_written() -> None:
    oldest = replace(DRAIN, at_ms=0)
    assert decode_note(encode_note([DRAIN, STOP, oldest])) == (DRAIN, STOP, oldest)
    assert decode_note(encode_note([])) == ()


def _changed(**fields: object) -> str:
    value = json.loads(encode_note([DRAIN]))
    value["requests"][0] |= fields
    return json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "1", '{"requests":3}', '{"requests":[{}]}', "[" * 4000, "x" * 5000),
        *(_changed(kind="kill"), _changed(kind=["stop"]), _changed(member=3), _changed(by=None)),
        *(_changed(at_ms=-1), _changed(at_ms=2**63), _changed(at_ms="1"), _changed(at_ms=1e300)),
    ],
)
def test_what_was_not_written_by_us_asks_nothing(text: str) -> None:
    assert decode_note(text) == ()


def test_the_newest_request_to_any_of_a_process_s_ids_counts() -> None:
    newer = replace(STOP, member="a-0")
    notes = {FIRST: (DRAIN,), SECOND: (newer,)}
    assert heard(notes, {"a-0", "a-1"}, None) == Heard(newer, SECOND)
    assert heard(notes, {"a-1"}, None) == Heard(DRAIN, FIRST)
    assert heard(notes, {"c"}, None) is None


def test_a_request_is_withdrawn_by_its_note_and_not_by_a_note_that_is_gone() -> None:
    before = Heard(DRAIN, FIRST)
    assert heard({FIRST: ()}, {"a-1"}, before) is None
    assert heard({SECOND: (STOP,)}, {"a-1"}, before) == before
    assert heard({}, {"a-1"}, before) == before


def test_a_request_replaces_the_earlier_one_to_its_member() -> None:
    notes = {FIRST: (), SECOND: (DRAIN, STOP)}
    after = replace(DRAIN, kind="stop", at_ms=3000)
    assert placed(notes, after, [FIRST, SECOND], {"a-1", "b-2"}) == {
        FIRST: (after,),
        SECOND: (STOP,),
    }
    assert placed({FIRST: (DRAIN,)}, after, [FIRST], {"a-1"}) == {FIRST: (after,)}


def test_a_full_note_is_passed_over_and_full_notes_are_refused() -> None:
    many = tuple(replace(DRAIN, member=f"member-{n:060}") for n in range(30))
    present = {one.member for one in many}
    assert len(encode_note(many)) < 4096 < len(encode_note([*many, STOP])) + 400
    full = {FIRST: (*many, replace(STOP, member="x" * 200, by="y" * 20))}
    assert placed(full, STOP, [FIRST, SECOND], present | {"x" * 200}) == {SECOND: (STOP,)}
    assert placed(full, STOP, [FIRST], present | {"x" * 200}) == {}


def test_requests_to_processes_that_have_gone_make_room_after_a_week() -> None:
    late = replace(STOP, at_ms=DRAIN.at_ms + WEEK_MS + 1)
    assert placed({FIRST: (DRAIN,)}, late, [FIRST], {"b-2"}) == {FIRST: (late,)}
    assert placed({FIRST: (DRAIN,)}, late, [FIRST], {"a-1"}) == {FIRST: (DRAIN, late)}
    soon = replace(late, at_ms=late.at_ms - 1)
    assert placed({FIRST: (DRAIN,)}, soon, [FIRST], {"b-2"}) == {FIRST: (DRAIN, soon)}


def test_a_request_is_withdrawn_from_each_note_that_has_it() -> None:
    notes = {FIRST: (DRAIN, STOP), SECOND: (STOP,)}
    assert withdrawn(notes, "a-1") == {FIRST: (STOP,)}
    assert withdrawn(notes, "b-2") == {FIRST: (DRAIN,), SECOND: ()}
    assert withdrawn(notes, "c") == {}
