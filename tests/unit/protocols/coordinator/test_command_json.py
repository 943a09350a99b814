"""What no coordinator or member of ours writes is refused, with the place and the reason."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.command_json import (
    decode_answer,
    decode_command,
    encode,
)
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Assigned,
    Command,
    Holding,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation

NUMBERS = st.integers(0, 2**63 - 1)
GENERATIONS = st.builds(Generation, NUMBERS, NUMBERS)
PARTITIONS = st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 9999))
OFFSETS = st.dictionaries(PARTITIONS, NUMBERS, max_size=5)
ASSIGNED = st.builds(Assigned, st.integers(0, 99), st.none() | NUMBERS)
TOPICS = st.dictionaries(
    st.text(max_size=5),
    st.sets(st.integers(0, 50), max_size=8).map(lambda numbers: tuple(sorted(numbers))),
    max_size=3,
)
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(Stop, GENERATIONS, NUMBERS, st.frozensets(PARTITIONS, max_size=5)),
    st.builds(
        Start, GENERATIONS, NUMBERS, st.dictionaries(PARTITIONS, ASSIGNED, max_size=5), TOPICS
    ),
    st.builds(Ping, GENERATIONS, NUMBERS),
)
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    st.builds(Stopped, GENERATIONS, NUMBERS, OFFSETS),
    st.builds(Started, GENERATIONS, NUMBERS),
    st.builds(Holding, GENERATIONS, NUMBERS, OFFSETS),
)
STOP = {
    "version": 1,
    "command": "stop",
    "generation": "1.2",
    "life": 3,
    "partitions": {"t": [0]},
}
START = {
    "version": 1,
    "command": "start",
    "generation": "1.2",
    "life": 3,
    "partitions": {"t": {"0": {"thread": 0}}},
    "topics": {"t": [[0, 1]]},
}


@given(COMMANDS)
def test_a_command_comes_back_as_it_was(command: Command) -> None:
    assert decode_command("here", encode(command)) == command


@given(ANSWERS)
def test_an_answer_comes_back_as_it_was(answer: Answer) -> None:
    assert decode_answer("here", encode(answer)) == answer


@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "command", "generation", "life", "partitions", "topics", "t"]
                ),
                inner,
                max_size=7,
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decode in (decode_command, decode_answer):
        with suppress(BadZnodeError):
            assert decode("here", data).life >= 0


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"version": 0}, "no version 0"),
        ({"version": True}, '"version" is missing or no number'),
        ({"command": "halt"}, "no command 'halt'"),
        ({"generation": "7"}, "no pair of numbers"),
        ({"generation": "01.2"}, "no pair of numbers"),
        ({"life": -1}, '"life" is missing or no number'),
        ({"partitions": {"t": 0}}, "no list"),
        ({"partitions": {"t": [-1]}}, "a partition of 't'"),
        ({"partitions": {"": [0]}}, "no name"),
    ],
)
def test_a_malformed_stop_is_refused(broken: dict[str, object], why: str) -> None:
    with pytest.raises(BadZnodeError, match=why):
        decode_command("here", json.dumps({**STOP, **broken}).encode())


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"partitions": {"t": {"0": 1}}}, "t-0 has no thread"),
        ({"partitions": {"t": {"x": {"thread": 0}}}}, "'x' is no partition"),
        ({"partitions": {"t": {"0": {"thread": 0, "offset": 0.5}}}}, "the offset of t-0"),
        ({"topics": {"t": [[0]]}}, "not two ends"),
        ({"topics": {"t": [[1, 1]]}}, r"\[1, 1\) are no partitions"),
        ({"topics": {"t": [[0, 10**9]]}}, "it names more than 300000 partitions"),
        ({"topics": {"t": [[0, 2**31]]}}, "are no partitions of 't'"),
        ({"topics": None}, '"topics" is missing'),
    ],
)
def test_a_malformed_start_is_refused(broken: dict[str, object], why: str) -> None:
    with pytest.raises(BadZnodeError, match=why):
        decode_command("here", json.dumps({**START, **broken}).encode())


def test_what_was_not_understood_is_shown_in_part() -> None:
    with pytest.raises(BadZnodeError, match="it is not JSON") as raised:
        decode_answer("/consumers/groups/g/answers/0", b"x" * 100_000)
    assert len(f"{raised.value}") < 1000
