"""Offsets as a file: what is written is read back, and rubbish is refused by name and place."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.cli.offset_file import read_file, written
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition


def test_what_is_written_is_read_back() -> None:
    offsets = {TopicPartition("a.b", 10): 7, TopicPartition("a.b", 2): 0, TopicPartition("c", 0): 1}
    assert read_file(json.dumps(written(offsets)), "f") == offsets
    assert json.dumps(written(offsets)) == '{"a.b": {"2": 0, "10": 7}, "c": {"0": 1}}'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ("[]", "holds no topics"),
        ("{}", "holds no topics"),
        ('{"a": 1}', "'a' is no topic"),
        ('{"a/b": {}}', "'a/b' is no topic"),
        ('{"a": {"x": 1}}', "'x' is no partition of a"),
        ('{"a": {"0": "1"}}', "a-0 has '1'"),
        ('{"a": {"0": true}}', "a-0 has True"),
        ('{"a": {"0": -1}}', "a-0 has -1"),
        ('{"a": {"0": 9223372036854775808}}', "a-0 has 9223372036854775808"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_rubbish_is_refused_by_name_and_place(text: str, named: str) -> None:
    with pytest.raises(OptionError, match=r"saved\.json") as caught:
        read_file(text, "saved.json")
    assert named in str(caught.value)
    assert '{"orders": {"0": 1200' in caught.value.remedy
