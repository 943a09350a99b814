"""A group described in a file, for `zkgroup assignment` to say who would own what in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from pyspark_zkgroup.cli.strict_json import KeyTwiceError, no_constant, unique_keys
from pyspark_zkgroup.inspect.jvm_version import NEWEST, JvmVersion
from pyspark_zkgroup.jvm.topics import legal_name

PARTITIONS_MAX = 1_000_000


class BadInput(click.ClickException):
    exit_code = 2


@dataclass(frozen=True)
class Question:
    """A group, and the rules that it is to follow."""

    assignor: str
    version: JvmVersion
    topics: Mapping[str, tuple[int, ...]]
    ids: Mapping[str, object]
    exclude_internal_topics: bool


def read_question(data: bytes) -> Question:
    """What FILE asks. BadInput says which part of it cannot be used."""
    try:
        text = data.decode("utf-8-sig")
        value: Any = json.loads(text, parse_constant=no_constant, object_pairs_hook=unique_keys)
    except KeyTwiceError as error:
        raise BadInput(f"the file has {error.key!r} more than once: delete one of them") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the file is not JSON: {error}") from error
    if not isinstance(value, dict):
        bad("the file", value, 'an object with "assignor", "topics" and "ids"')
    assignor = _key(value, "assignor")
    if not isinstance(assignor, str):
        bad('"assignor"', assignor, '"range" or "roundrobin"')
    version = value.get("version", NEWEST)
    if not isinstance(version, str):
        bad('"version"', version, f'a text such as "{NEWEST}"')
    exclude = value.get("exclude_internal_topics", True)
    if not isinstance(exclude, bool):
        bad('"exclude_internal_topics"', exclude, "true or false")
    ids = _key(value, "ids")
    if not isinstance(ids, dict):
        bad('"ids"', ids, "an object of consumer ids and their registrations")
    for consumer in ids:
        if not consumer or "/" in consumer:
            bad('"ids"', consumer, "consumer ids, which are names of nodes")
    parsed = JvmVersion.parse(version)
    return Question(assignor, parsed, _topics(_key(value, "topics")), ids, exclude)


def _topics(value: object) -> dict[str, tuple[int, ...]]:
    if not isinstance(value, dict):
        bad('"topics"', value, "an object of topics and their numbers of partitions")
    for topic, count in value.items():
        if not legal_name(topic):
            bad('"topics"', topic, "names made of letters, digits, '.', '_' and '-'")
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not whole or not 0 <= count <= PARTITIONS_MAX:
            bad(f'"topics": {topic!r}', count, f"a number of partitions, 0 to {PARTITIONS_MAX}")
    return {topic: tuple(range(count)) for topic, count in value.items()}


def _key(value: Mapping[str, object], key: str) -> object:
    if key not in value:
        raise BadInput(f'the file has no "{key}"; "assignor", "topics" and "ids" are needed')
    return value[key]


def bad(what: str, value: object, allowed: str) -> NoReturn:
    raise BadInput(f"{what} is {json.dumps(value)[:200]}, but must be {allowed}")
