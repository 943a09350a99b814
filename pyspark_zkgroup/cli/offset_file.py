"""Offsets as a file: Spark's own form, {"topic": {"partition": offset}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark_zkgroup.cli.strict_json import KeyTwiceError, unique_keys
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.jvm.topics import legal_name
from pyspark_zkgroup.model import TopicPartition

_OFFSET_MAX = 2**63 - 1
_DIGITS_MAX = 10  # of a partition's number, which has 31 bits


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
        raise OptionError.of("undo_not_saved", file=file, error=error.strerror) from None


def is_there(file: Path) -> OptionError:
    return OptionError.of("undo_exists", file=file)


def read_file(data: bytes, name: str) -> dict[TopicPartition, int]:
    """OptionError names the file and the place in it that cannot be used."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OptionError.of("offsets_not_text", file=name) from None
    try:
        value: Any = json.loads(text, object_pairs_hook=unique_keys)
    except KeyTwiceError as error:
        raise OptionError.of("named_twice", file=name, name=error.key) from None
    except (ValueError, RecursionError) as error:
        raise OptionError.of("offsets_not_json", file=name, error=error) from error
    if not isinstance(value, dict) or not value:
        raise OptionError.of("offsets_without_topics", file=name)
    found: dict[TopicPartition, int] = {}
    for topic, partitions in value.items():
        if not legal_name(topic) or not isinstance(partitions, dict):
            raise OptionError.of("not_a_topic", file=name, topic=topic)
        for number, offset in partitions.items():
            if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS_MAX):
                raise OptionError.of("not_a_partition", file=name, number=number, topic=topic)
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise OptionError.of(
                    "not_an_offset", file=name, partition=f"{topic}-{number}", offset=repr(offset)
                )
            if not 0 <= offset <= _OFFSET_MAX:
                raise OptionError.of(
                    "not_an_offset", file=name, partition=f"{topic}-{number}", offset=offset
                )
            partition = TopicPartition(topic, int(number))
            if partition in found:  # as "0" and "00"
                raise OptionError.of("named_twice", file=name, name=partition)
            found[partition] = offset
    return found
