"""What /brokers/topics/T says: the partitions of a topic, whatever version of Kafka wrote it."""

from __future__ import annotations

import json
import re

from pyspark_zkgroup.errors import BadZnodeError

NAME_LENGTH_MAX = 249
_DIGITS_MAX = 10
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def legal_name(topic: str) -> bool:
    """Whether brokers would create a topic of this name."""
    return (
        _LEGAL.fullmatch(topic) is not None
        and len(topic) <= NAME_LENGTH_MAX
        and topic not in (".", "..")
    )


def parse_topic(path: str, data: bytes | None) -> tuple[int, ...]:
    """The partitions, ascending. Only the keys of "partitions" count; without them there are none.

    A node without data has none either: the controller makes the node first and writes it later.
    """
    if not data:
        return ()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _bad(path, data) from error
    partitions = value.get("partitions", {}) if isinstance(value, dict) else None
    if not isinstance(partitions, dict) or not all(_is_number(key) for key in partitions):
        raise _bad(path, data)
    return tuple(sorted({int(key) for key in partitions}))


def _is_number(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) <= _DIGITS_MAX


def _bad(path: str, data: bytes) -> BadZnodeError:
    return BadZnodeError.of("topic_node", path=path, data=data[:200])
