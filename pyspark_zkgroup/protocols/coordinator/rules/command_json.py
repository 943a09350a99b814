"""Commands and answers as JSON: a public, versioned format.

    {"version":1,"command":"stop","generation":"4294967318.7","life":4294967401,
     "partitions":{"orders":[3,4]}}
    {"version":1,"command":"start","generation":"4294967318.8","life":4294967401,
     "partitions":{"orders":{"0":{"thread":0,"offset":15},"1":{"thread":1}}},
     "topics":{"orders":[[0,12]]}}
    {"version":1,"command":"ping","generation":"4294967318.8","life":4294967401}
    {"version":1,"answer":"stopped","generation":"4294967318.7","life":4294967401,
     "offsets":{"orders":{"3":120}}}

Partitions of a topic are runs, half-open. A message of a newer version is refused, with both
version numbers. Nothing is guessed: a misread command takes a partition from its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.jvm.registration import THREADS_MAX
from pyspark_zkgroup.model import TopicPartition
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

VERSION = 1
PARTITIONS_MAX = 300_000
"""Limit on all runs of a command together, more than a cluster has: few bytes can name many."""
_SHOWN = 300
_NAME_SHOWN = 100
_KEPT = 1000
_NUMBER_MAX = 2**63 - 1
_PARTITION_MAX = 2**31 - 1


def encode(message: Command | Answer) -> bytes:
    """Encode deterministically: equal messages are equal bytes."""
    value: dict[str, object] = {"version": VERSION, **_named(message)}
    value |= {"generation": str(message.generation), "life": message.life}
    if isinstance(message, Stop):
        value["partitions"] = _lists(message.partitions)
    elif isinstance(message, Start):
        value["partitions"] = _by_topic({p: _assigned(a) for p, a in message.share.items()})
        value["topics"] = {t: _runs(numbers) for t, numbers in sorted(message.topics.items())}
    elif isinstance(message, Stopped | Holding):
        value["offsets"] = _by_topic(message.offsets)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_command(where: str, data: bytes) -> Command:
    """Decode a command. The error names `where`: a path, or a peer."""
    fields = _Fields(where, data, "command")
    name, generation, life = fields.text("command"), fields.generation(), fields.number("life")
    if name == "stop":
        return Stop(generation, life, fields.partitions())
    if name == "start":
        return Start(generation, life, fields.share(), fields.topics())
    if name == "ping":
        return Ping(generation, life)
    raise fields.refusal(f"there is no command {name[:_NAME_SHOWN]!r}")


def decode_answer(where: str, data: bytes) -> Answer:
    fields = _Fields(where, data, "answer")
    name, generation, life = fields.text("answer"), fields.generation(), fields.number("life")
    if name == "stopped":
        return Stopped(generation, life, fields.offsets())
    if name == "started":
        return Started(generation, life)
    if name == "holding":
        return Holding(generation, life, fields.offsets())
    raise fields.refusal(f"there is no answer {name[:_NAME_SHOWN]!r}")


def _named(message: Command | Answer) -> dict[str, str]:
    kind = "command" if isinstance(message, Stop | Start | Ping) else "answer"
    return {kind: type(message).__name__.lower()}


def _assigned(assigned: Assigned) -> dict[str, int]:
    value = {"thread": assigned.thread}
    if assigned.offset is not None:
        value["offset"] = assigned.offset
    return value


def _lists(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    listed: dict[str, list[int]] = {}
    for partition in sorted(partitions):
        listed.setdefault(partition.topic, []).append(partition.partition)
    return listed


def _by_topic(values: Mapping[TopicPartition, object]) -> dict[str, dict[str, object]]:
    nested: dict[str, dict[str, object]] = {}
    for partition, value in sorted(values.items()):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = value
    return nested


# All members that read a topic receive the same partitions.
@lru_cache(_KEPT)
def _runs(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number:
            runs[-1][1] = number + 1
        else:
            runs.append([number, number + 1])
    return tuple(map(tuple, runs))


class _Fields:
    """Reads one message field by field, and refuses a field that has the wrong form."""

    def __init__(self, where: str, data: bytes, kind: str) -> None:
        self.where, self.data, self.kind = where, data, kind
        try:
            value: Any = json.loads(data, parse_constant=self._refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self.refusal("it is not JSON") from error
        if not isinstance(value, dict):
            raise self.refusal("it is not an object")
        self.value: dict[str, Any] = value
        version = self.number("version")
        if version > VERSION:
            raise BadZnodeError.of(
                "command_version", path=where, kind=kind, version=version, supported=VERSION
            )
        if version < 1:
            raise self.refusal(f"there is no version {version}")

    def refusal(self, why: str) -> BadZnodeError:
        return BadZnodeError.of(
            "command", path=self.where, kind=self.kind, reason=why, data=self.data[:_SHOWN]
        )

    def _refuse_constant(self, name: str) -> NoReturn:
        raise ValueError(name)

    def text(self, key: str) -> str:
        value = self.value.get(key)
        if not isinstance(value, str):
            raise self.refusal(f'"{key}" is missing or no string')
        return value

    def number(self, key: str) -> int:
        return self._whole(self.value.get(key), f'"{key}"')

    def generation(self) -> Generation:
        found = Generation.parse(self.text("generation"))
        if found is None:
            raise self.refusal('"generation" is no pair of numbers')
        return found

    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(
            self._partition(topic, number)
            for topic, numbers in self._object(self.value, "partitions").items()
            for number in self._list(numbers, f"the partitions of {topic[:_NAME_SHOWN]!r}")
        )

    def share(self) -> dict[TopicPartition, Assigned]:
        share: dict[TopicPartition, Assigned] = {}
        for partition, value in self._nested("partitions"):
            if not isinstance(value, dict):
                raise self.refusal(f"{partition} has no thread")
            offset = value.get("offset")
            share[partition] = Assigned(
                self._whole(value.get("thread"), f"the thread of {partition}", THREADS_MAX - 1),
                None if offset is None else self._whole(offset, f"the offset of {partition}"),
            )
        return share

    def offsets(self) -> dict[TopicPartition, int]:
        return {
            partition: self._whole(value, f"the offset of {partition}")
            for partition, value in self._nested("offsets")
        }

    def topics(self) -> dict[str, tuple[int, ...]]:
        topics: dict[str, tuple[int, ...]] = {}
        left = PARTITIONS_MAX
        for topic, runs in self._object(self.value, "topics").items():
            numbers: list[int] = []
            for run in self._list(runs, f"the partitions of {topic[:_NAME_SHOWN]!r}"):
                ends = self._list(run, f"a run of partitions of {topic[:_NAME_SHOWN]!r}")
                if len(ends) != 2:
                    raise self.refusal(
                        f"a run of partitions of {topic[:_NAME_SHOWN]!r} has not two ends"
                    )
                start, until = (self._whole(e, f"an end in {topic[:_NAME_SHOWN]!r}") for e in ends)
                if not start < until <= _PARTITION_MAX:
                    raise self.refusal(
                        f"[{start}, {until}) are no partitions of {topic[:_NAME_SHOWN]!r}"
                    )
                left -= until - start
                if left < 0:
                    raise self.refusal(f"it names more than {PARTITIONS_MAX} partitions")
                numbers.extend(range(start, until))
            topics[topic] = tuple(numbers)
        return topics

    def _nested(self, key: str) -> list[tuple[TopicPartition, Any]]:
        found = []
        for topic, below in self._object(self.value, key).items():
            for number, value in self._object({topic: below}, topic).items():
                if not (number.isascii() and number.isdigit() and len(number) <= 10):
                    raise self.refusal(
                        f"{number[:_NAME_SHOWN]!r} is no partition of {topic[:_NAME_SHOWN]!r}"
                    )
                found.append((self._partition(topic, int(number)), value))
        return found

    def _partition(self, topic: str, number: Any) -> TopicPartition:
        if not topic:
            raise self.refusal("a topic has no name")
        what = f"a partition of {topic[:_NAME_SHOWN]!r}"
        return TopicPartition(topic, self._whole(number, what, _PARTITION_MAX))

    def _object(self, holder: dict[str, Any], key: str) -> dict[str, Any]:
        value = holder.get(key)
        if not isinstance(value, dict):
            raise self.refusal(f'"{key}" is missing or no object')
        return value

    def _list(self, value: Any, what: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.refusal(f"{what} are no list")
        return value

    def _whole(self, value: Any, what: str, most: int = _NUMBER_MAX) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self.refusal(f"{what} is missing or no number")
        return value
