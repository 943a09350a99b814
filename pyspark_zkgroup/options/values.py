"""How the text of one option becomes a value: each `Rule` says what it allows and reads one text.

A reader raises ValueError with the reason alone, worded to follow "Option 'x' is 'y', which ...".
The option's name, what was given and what is allowed are put around it in one place, given.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

from pyspark_zkgroup.connect_string import (
    Address,
    ConnectString,
    parse_addresses,
    parse_connect_string,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security import placeholders

T_co = TypeVar("T_co", covariant=True)
TOPIC_LENGTH_MAX = 249
THREADS_MAX = 10_000
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
HOUR_MS = 3_600_000

# Nodes beside the groups under /consumers, in which coordinators keep what is theirs.
RESERVED_GROUPS = ("coordinator", "groups")

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NAME_ALLOWED = "letters, digits, '.', '_' and '-' of ASCII"


@dataclass(frozen=True, slots=True)
class Rule(Generic[T_co]):
    """`allowed` completes "Allowed: ..."; `read` is given the text without blanks around it."""

    allowed: str
    read: Callable[[str], T_co]


def whole_number(low: int, high: int, unit: str = "") -> Rule[int]:
    def read(text: str) -> int:
        # A pattern first: int() would also take 1_000 and the digits of other scripts.
        if not _WHOLE.fullmatch(text):
            raise ValueError("is not a whole number")
        # 19 digits hold 2**63 - 1; longer ones are out of every range, and int() has a limit.
        number = int(text) if len(text.lstrip("+-0")) <= 19 else None
        if number is None or not low <= number <= high:
            raise ValueError("is out of range")
        return number

    return Rule(f"a whole number{' of ' + unit if unit else ''} from {low} to {high}", read)


def duration_ms(low: int = 1, high: int = HOUR_MS) -> Rule[int]:
    return whole_number(low, high, "milliseconds")


def one_of(*words: str) -> Rule[str]:
    """One of the words, in any case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError("is not an allowed value")
        return text.lower()

    return Rule(" or ".join(words), read)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("is neither true nor false")
    return text.lower() == "true"


def _name(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    if not _NAME.fullmatch(text):
        bad = next(character for character in text if not _NAME.fullmatch(character))
        raise ValueError(f"has the character {bad!r} in it")
    return text


def _group_id(text: str) -> str:
    name = _name(text)
    if name in (".", ".."):
        raise ValueError("cannot be the name of a node in ZooKeeper")
    if name in RESERVED_GROUPS:
        raise ValueError("is reserved: coordinators keep their own nodes under that name")
    return name


def topic_name(text: str) -> str:
    try:
        name = _name(text)
    except ValueError as error:
        raise ValueError(f"names the topic {text!r}, which {error}") from None
    if name in (".", ".."):
        raise ValueError(f"names the topic {name!r}, which no cluster can have")
    if len(name) > TOPIC_LENGTH_MAX:
        raise ValueError(
            f"names a topic of {len(name)} characters (at most {TOPIC_LENGTH_MAX} are legal)"
        )
    return name


def _topics(text: str) -> tuple[str, ...]:
    """Each topic once, in the order given; empty entries are dropped, as Spark's source does."""
    names = tuple(
        dict.fromkeys(topic_name(part.strip()) for part in text.split(",") if part.strip())
    )
    if not names:
        raise ValueError("names no topic")
    return names


def _partitions(text: str) -> tuple[TopicPartition, ...]:
    found: set[TopicPartition] = set()
    for topic, numbers in json_object(text, "topics and their partitions").items():
        topic_name(topic)
        if not isinstance(numbers, list) or not numbers:
            raise ValueError(f"gives {topic!r} {shown(numbers)}, not a list of partitions")
        for number in numbers:
            if not is_int(number) or not 0 <= number <= INT_MAX:
                raise ValueError(f"names the partition {shown(number)} of {topic!r}")
            found.add(TopicPartition(topic, number))
    return tuple(sorted(found))


def _expression(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _threads_by_topic(text: str) -> Mapping[str, int]:
    threads: dict[str, int] = {}
    for topic, count in json_object(text, "topics and their thread counts").items():
        if not is_int(count) or not 1 <= count <= THREADS_MAX:
            raise ValueError(f"gives {shown(count)} threads to {topic!r}")
        threads[topic_name(topic)] = count
    return threads


def _auth(text: str) -> tuple[tuple[str, str], ...]:
    """No reason here repeats any of the text: it is a secret. Secrets are filled in last, since
    they may hold any character.
    """
    entries: object = [text]
    if text.startswith("["):
        try:
            entries = json.loads(text)
        except ValueError:
            raise ValueError("starts with '[' but is not JSON") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError("has no entry")
    found = []
    for entry in entries:
        scheme, colon, credential = entry.partition(":") if isinstance(entry, str) else ("",) * 3
        credential = placeholders.filled(credential)
        if not colon or not credential or not re.fullmatch("[a-zA-Z0-9]+", scheme):
            raise ValueError("has an entry that is not a scheme, a colon and a credential")
        if scheme.lower() in ("sasl", "x509", "ip", "world"):
            raise ValueError("has an entry whose scheme comes with the connection itself")
        if scheme == "digest" and not re.fullmatch("[^:]+:.+", credential, re.DOTALL):
            raise ValueError("has a digest entry without a user, a colon and a password")
        found.append((scheme, credential))
    return tuple(found)


def _function_name(text: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", text):
        raise ValueError("is not the name of a module, a colon and the name of a function")
    return text


def _checkpoint(text: str) -> str:
    """As given, if Python on the driver can read Spark's commit log there."""
    if not text:
        raise ValueError("is empty")
    scheme, colon, path = text.partition(":")
    if not colon or not re.fullmatch("[a-zA-Z][a-zA-Z0-9+.-]*", scheme):
        return text
    if scheme not in ("file", "dbfs") or not path.startswith("/"):
        raise ValueError("is not a path that Python on the driver can open")
    return text


def json_object(text: str, of_what: str) -> Mapping[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("names something twice")
        return found

    def number(digits: str) -> int:
        # Twenty characters hold every 64-bit number; int() has a limit of its own, and other words.
        if len(digits) > 20:
            raise ValueError(f"has a number of {len(digits)} digits")
        return int(digits)

    try:
        value = json.loads(text, object_pairs_hook=once, parse_int=number)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at character {error.pos + 1})") from None
    except RecursionError:
        raise ValueError("is not JSON (nested too deeply)") from None
    if not isinstance(value, dict) or not value:
        raise ValueError(f"is not a JSON object of {of_what}")
    return value


def is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: object, most: int = 60) -> str:
    text = json.dumps(value)
    return text if len(text) <= most else text[:most] + "..."


def _assignor(text: str) -> str:
    words = {
        "range": "range",
        "roundrobin": "roundrobin",
        "org.apache.kafka.clients.consumer.rangeassignor": "range",
        "org.apache.kafka.clients.consumer.roundrobinassignor": "roundrobin",
    }
    if text.lower() not in words:
        raise ValueError("is not an allowed value")
    return words[text.lower()]


FLAG = Rule("true or false", _flag)
ASSIGNORS = Rule(
    "range or roundrobin, or the class of either below org.apache.kafka.clients.consumer", _assignor
)
NAME = Rule(f"one or more {_NAME_ALLOWED}", _name)
GROUP_ID = Rule(
    f"one or more {_NAME_ALLOWED}, except the reserved {' and '.join(RESERVED_GROUPS)}", _group_id
)
TOPICS = Rule(
    f"topic names separated by commas, each of at most {TOPIC_LENGTH_MAX} {_NAME_ALLOWED}", _topics
)
PARTITIONS = Rule(
    'a JSON object of topics and their partitions, such as {"orders": [0, 1], "payments": [2]}',
    _partitions,
)
EXPRESSION = Rule("one regular expression that matches whole topic names", _expression)
THREADS_BY_TOPIC = Rule(
    f'a JSON object such as {{"orders": 8, "payments": 2}}, with numbers from 1 to {THREADS_MAX}',
    _threads_by_topic,
)
CONNECT_STRING: Rule[ConnectString] = Rule(
    "host:port of each server, separated by commas, then the chroot if there is one, such as "
    "zk1:2181,zk2:2181/kafka (port 2181 if left out, IPv6 as [::1]:2181)",
    parse_connect_string,
)
ADDRESSES: Rule[tuple[Address, ...]] = Rule(
    "host:port of some brokers, separated by commas (IPv6 as [::1]:9092)", parse_addresses
)
AUTH = Rule(
    "scheme:credential such as digest:user:password, or a JSON list of several such texts", _auth
)
FUNCTION_NAME = Rule("module:function, such as our_caches:moved", _function_name)
CHECKPOINT = Rule(
    "a path, a file: or dbfs: address (other file systems through a mount)", _checkpoint
)
