"""Offsets as a file: Spark's own form, {"topic": {"partition": offset}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.jvm.topics import legal_name
from pyspark_zkgroup.model import TopicPartition

_OFFSET_MAX = 2**63 - 1
_DIGITS_MAX = 10  # of a partition's number, which has 31 bits
_EXPECTED = 'Expected JSON like {"orders": {"0": 1200, "1": 980}}'


def written(offsets: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, int | None]]:
    found: dict[str, dict[str, int | None]] = {}
    for partition, offset in sorted(offsets.items()):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return found


def save_new(file: Path, offsets: Mapping[TopicPartition, int | None]) -> None:
    """A file that is there is left alone: it may be the only way back from an earlier change."""
    text = json.dumps(written(offsets), indent=1) + "\n"
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise is_there(file) from None
    except OSError as error:
        raise OptionError(
            f"The offsets as they were cannot be saved in {file} ({error.strerror}), and none "
            "were set",
            "Name with --undo a file that can be written",
        ) from None


def is_there(file: Path) -> OptionError:
    return OptionError(
        f"The file {file} is there already, and would be lost; no offsets were set",
        "Name another one with --undo",
    )


def read_file(data: bytes, name: str) -> dict[TopicPartition, int]:
    """OptionError names the file and the place in it that cannot be used."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OptionError(f"{name} is no text in UTF-8", _EXPECTED) from None
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
            if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS_MAX):
                raise OptionError(f"{name}: {number!r} is no partition of {topic}", _EXPECTED)
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise OptionError(f"{name}: {topic}-{number} has {offset!r}", _EXPECTED)
            if not 0 <= offset <= _OFFSET_MAX:
                raise OptionError(
                    f"{name}: {topic}-{number} has {offset}, which is no offset", _EXPECTED
                )
            found[TopicPartition(topic, int(number))] = offset
    return found
