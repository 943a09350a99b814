"""Offsets as a file: what is written is read back, and rubbish is refused by name and place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyspark_zkgroup.cli.offset_file import read_file, save_new, written
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition


def test_what_is_written_is_read_back() -> None:
    offsets = {TopicPartition("a.b", 10): 7, TopicPartition("a.b", 2): 0, TopicPartition("c", 0): 1}
    assert read_file(json.dumps(written(offsets)).encode(), "f") == offsets
    assert json.dumps(written(offsets)) == '{"a.b": {"2": 0, "10": 7}, "c": {"0": 1}}'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ("[]", "contains no topics"),
        ("{}", "contains no topics"),
        ('{"a": 1}', "'a' is not a topic"),
        ('{"a/b": {}}', "'a/b' is not a topic"),
        ('{"a": {"x": 1}}', "'x' is not a partition of a"),
        ('{"a": {"0": "1"}}', "a-0 has '1'"),
        ('{"a": {"0": true}}', "a-0 has True"),
        ('{"a": {"0": -1}}', "a-0 has -1"),
        ('{"a": {"0": 9223372036854775808}}', "a-0 has 9223372036854775808"),
        ('{"a": {"' + "1" * 5000 + '": 1}}', "is not a partition of a"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_malformed_input_is_refused_by_name_and_place(text: str, named: str) -> None:
    with pytest.raises(OptionError, match=r"saved\.json") as caught:
        read_file(text.encode(), "saved.json")
    assert named in f"{caught.value}"
    assert '{"orders": {"0": 1200' in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a": {"0": 1}, "b": {"0": 1}, "a": {"1": 2}}', "a"),
        ('{"a": {"0": 1, "1": 2, "0": 3}}', "0"),
        ('{"a": {"0": 1, "00": 3}}', "a-0"),
    ],
)
def test_what_a_file_has_twice_is_refused(text: str, named: str) -> None:
    """The last one would win, and the others would be dropped without a word."""
    with pytest.raises(OptionError, match=rf"saved\.json has {named} more than once"):
        read_file(text.encode(), "saved.json")


def test_bytes_that_are_no_text_are_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"saved\.json is not text in UTF-8"):
        read_file(b"\x89\xff\x00", "saved.json")


def test_a_byte_order_mark_is_accepted() -> None:
    """Windows' editors write it."""
    data = b"\xef\xbb\xbf" + b'{"a": {"0": 1}}'
    assert read_file(data, "f") == {TopicPartition("a", 0): 1}


def test_what_is_saved_is_read_back_and_nothing_that_was_there_is_lost(tmp_path: Path) -> None:
    file, first = tmp_path / "undo.json", {TopicPartition("a", 0): 1}
    save_new(file, first)
    with pytest.raises(OptionError, match=r"undo\.json already exists") as caught:
        save_new(file, {TopicPartition("a", 0): 2})
    assert "Name another file with --undo" in caught.value.remedy
    assert read_file(file.read_bytes(), "f") == first


def test_a_file_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "undo.json"
    with pytest.raises(OptionError, match="No such file or directory") as caught:
        save_new(file, {TopicPartition("a", 0): 1})
    assert str(file) in caught.value.what
