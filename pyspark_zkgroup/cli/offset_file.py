"""Offsets as a file: Spark's own form, {"topic": {"partition": offset}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.group.topics import legal_name
from pyspark_zkgroup.model import TopicPartition

_OFFSET_MAX = 2**63 - 1
_EXPECTED = 'Expected JSON like {"orders": {"0": 1200, "1": 980}}'


def written(offsets: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, int | None]]:
    found: dict[str, dict[str, int | None]] = {}
    for partition, offset in sorted(offsets.items()):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return found


def read_file(text: str, name: str) -> dict[TopicPartition, int]:
    """OptionError names the file and the place in it that cannot be used."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{name} is not JSON: {error}", _EXPECTED) from error
    if not isinstance(value, dict) or not value:
        raise OptionError(f"{name} holds no topics", _EXPECTED)
    found: dict[TopicPartition, int] = {}
    for topic, partitions in value.items():
        if not legal_name(topic) or not isinstance(partitions, dict):
            raise OptionError(f"{name}: {topic!r} is no topic with partitions", _EXPECTED)
        for number, offset in partitions.items():
            if not (number.isascii() and number.isdecimal()):
                raise OptionError(f"{name}: {number!r} is no partition of {topic}", _EXPECTED)
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise OptionError(f"{name}: {topic}-{number} has {offset!r}", _EXPECTED)
            if not 0 <= offset <= _OFFSET_MAX:
                raise OptionError(
                    f"{name}: {topic}-{number} has {offset}, which is no offset", _EXPECTED
                )
            found[TopicPartition(topic, int(number))] = offset
    return found
