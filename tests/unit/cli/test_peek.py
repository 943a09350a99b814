"""What `peek` prints of values, and where it begins."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, cast

import pyarrow as pa
import pytest

from pyspark_zkgroup.cli.peek import Record, _Reader, _show, _start
from pyspark_zkgroup.model import TopicPartition

P = TopicPartition("orders", 0)


def printed(value: Any, capsys: pytest.CaptureFixture[str]) -> str:
    _show(iter([Record(0, 7, "t", None, value, None)]), as_json=True)
    (line,) = capsys.readouterr().out.splitlines()
    return line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [float("nan"), 1.5]}, {"a": ["NaN", 1.5]}),
        ([float("inf"), float("-inf")], ["Infinity", "-Infinity"]),
        ("caf\u00e9", "caf\u00e9"),
        ("\x9b31m \u202e", "\x9b31m \u202e"),
        ({"half": "\ud83d"}, {"half": "\ud83d"}),
    ],
)
def test_each_line_is_json_and_controls_no_terminal(
    value: Any, shown: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    line = printed(value, capsys)

    def refused(name: str) -> None:
        raise AssertionError(name)

    assert json.loads(line, parse_constant=refused)["value"] == shown
    assert not {*line} & {"\x9b", "\u202e", "\ud83d"}


@pytest.mark.parametrize("text", ["NaN", '{"a": -Infinity}'])
def test_a_number_that_json_does_not_know_is_bad(text: str) -> None:
    reader = _Reader({}, "orders", "json", "", "")
    values = {"value": text, "key": None, "partition": 0, "offset": 7, "timestamp": "t"}
    record = reader._record({name: pa.scalar(one) for name, one in values.items()})
    assert (record.bad, record.value) == ("value: not JSON", text)


class View:
    """A log from 5 to 9; `asked`: the time that was looked up."""

    asked = -1

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 9)

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.asked = times[P]
        return {P: 5}


@pytest.mark.parametrize(("where", "start"), [("0", 5), ("7", 7), ("9" * 20, 9), ("9" * 5000, 9)])
def test_an_offset_of_any_length_is_within_the_log(where: str, start: int) -> None:
    assert _start(where, cast(Any, View()), [P]) == {P: start}


def test_a_time_before_1970_is_not_the_end_of_the_log() -> None:
    view = View()
    assert _start("1969-12-31T23:59:59.999Z", cast(Any, view), [P]) == {P: 5}
    assert view.asked == 0
