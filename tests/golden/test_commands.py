"""The JSON of commands and answers, byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest

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

FILES = Path(__file__).parent / "commands"
WHEN, LIFE = Generation(4294967318, 7), 4294967401


def at(topic: str, number: int) -> TopicPartition:
    return TopicPartition(topic, number)


COMMANDS: dict[str, Command] = {
    "stop": Stop(WHEN, LIFE, frozenset({at("orders", 10), at("orders", 9), at("payments.éu", 0)})),
    "start": Start(
        WHEN,
        LIFE,
        {
            at("orders", 0): Assigned(0, 15),
            at("orders", 2): Assigned(1),
            at("orders", 10): Assigned(0, 2**63 - 1),
        },
        {"payments": (0,), "orders": (*range(11), 13)},
    ),
    "start_nothing": Start(WHEN, LIFE),
    "ping": Ping(WHEN, LIFE),
}
ANSWERS: dict[str, Answer] = {
    "stopped": Stopped(WHEN, LIFE, {at("orders", 9): 120, at("orders", 10): 0}),
    "started": Started(WHEN, LIFE),
    "holding": Holding(WHEN, LIFE, {at("orders", 0): 15}),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_written_and_read_as_ever(name: str) -> None:
    golden = (FILES / f"{name}.json").read_bytes().rstrip(b"\n")
    assert encode(COMMANDS[name]) == golden
    assert decode_command("/channel", golden) == COMMANDS[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_written_and_read_as_ever(name: str) -> None:
    golden = (FILES / f"{name}.json").read_bytes().rstrip(b"\n")
    assert encode(ANSWERS[name]) == golden
    assert decode_answer("/answers", golden) == ANSWERS[name]


def test_a_newer_version_is_refused_with_both_numbers() -> None:
    data = (FILES / "from_the_future.json").read_bytes()
    with pytest.raises(BadZnodeError, match=r"/channel/0.* version 2, .* up to 1"):
        decode_command("/channel/0", data)
