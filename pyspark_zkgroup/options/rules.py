"""How the text of one option becomes a value: each `Rule` says what it allows and reads one text.

A reader raises ValueError with the reason alone, worded to follow "Option 'x' is 'y', which ...".
The option's name, what was given and what is allowed are put around it in one place, given.py.
Here are the rules that several concepts share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

from pyspark_zkgroup.connect_string import parse_addresses

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
TOPIC_LENGTH_MAX = 249
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NAME_ALLOWED = "letters, digits, '.', '_' and '-' of ASCII"

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_WHOLE = re.compile(r"[+-]?[0-9]+")


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


def meaning_of(
    words: Mapping[str, T], allowed: str, otherwise: str = "is not an allowed value"
) -> Rule[T]:
    """What each word stands for; words are in lower case here, and in any case where given."""

    def read(text: str) -> T:
        if text.lower() not in words:
            raise ValueError(otherwise)
        return words[text.lower()]

    return Rule(allowed, read)


def one_of(*words: T) -> Rule[T]:
    """One of these texts, in any case; the value is written as here."""
    return meaning_of({str(word).lower(): word for word in words}, " or ".join(map(str, words)))


def matching(pattern: str, allowed: str, otherwise: str) -> Rule[str]:
    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(otherwise)
        return text

    return Rule(allowed, read)


def not_empty(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def name(text: str) -> str:
    not_empty(text)
    if not _NAME.fullmatch(text):
        bad = next(character for character in text if not _NAME.fullmatch(character))
        raise ValueError(f"has the character {bad!r} in it")
    return text


def topic_name(text: str) -> str:
    try:
        found = name(text)
    except ValueError as error:
        raise ValueError(f"names the topic {text!r}, which {error}") from None
    if found in (".", ".."):
        raise ValueError(f"names the topic {found!r}, which no cluster can have")
    if len(found) > TOPIC_LENGTH_MAX:
        raise ValueError(
            f"names a topic of {len(found)} characters (at most {TOPIC_LENGTH_MAX} are legal)"
        )
    return found


def json_object(text: str, of_what: str) -> Mapping[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("names something twice")
        return found

    def number(digits: str) -> int:
        # Twenty characters hold every 64-bit number; int() has another limit, and other words.
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


FLAG = meaning_of({"true": True, "false": False}, "true or false", "is neither true nor false")
NAME = Rule(f"one or more {NAME_ALLOWED}", name)
ADDRESSES: Rule[tuple[str, ...]] = Rule(
    "host:port addresses, separated by commas (IPv6 as [::1]:9092)",
    lambda text: tuple(map(str, parse_addresses(text))),
)
