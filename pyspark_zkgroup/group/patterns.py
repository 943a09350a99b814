"""White and black lists: which topics an expression means, read as java.util.regex reads it.

Every member expands every other member's expression by itself. An expression that two members read
differently makes them claim different partitions, so ours must mean the same in Python and Java
(`difference`), while those of others are matched by Java's rules whatever Python would say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.group.java_cursor import JavaRefusalError, UntellableError
from pyspark_zkgroup.group.java_match import Match
from pyspark_zkgroup.group.java_nodes import Node, backtracks_little
from pyspark_zkgroup.group.java_regex import parse

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})
"""The brokers' own topics, which a list never means unless exclude.internal.topics is false."""

Matcher = Callable[[str], bool]

_TRIMMED = "".join(map(chr, range(0x21)))
_QUOTES = "\"'"
# Every member asks anew of every other's expression, at each look.
_KEPT = 256


def clean(expression: str) -> str:
    """What the JVM makes of the user's text, when it registers and again when it reads: blanks go,
    commas become alternatives, quotes around the whole go."""
    return expression.strip(_TRIMMED).replace(",", "|").replace(" ", "").strip(_QUOTES)


@lru_cache(_KEPT)
def compile_expression(expression: str) -> Matcher:
    """Does a whole topic name match? Cleans first; SubscriptionError when Java refuses it."""
    cleaned = clean(expression)
    try:
        parsed = parse(cleaned)
    except JavaRefusalError as error:
        raise SubscriptionError(
            f"java.util.regex refuses {cleaned!r}: {error}", "Correct the expression"
        ) from error
    except UntellableError as error:
        raise SubscriptionError(
            f"what {cleaned!r} means depends on the Java runtime: {error}",
            "Write the expression without it",
        ) from error
    # Python's own matcher is quicker where it may be used.
    if not parsed.notes and backtracks_little(parsed.root):
        compiled = _python(cleaned)
        if not isinstance(compiled, str):
            return _by_python(compiled)
    return _by_parts(parsed.root)


@lru_cache(_KEPT)
def difference(expression: str) -> str | None:
    """Why Python and Java would read the expression differently; None when they agree.

    Only what shows on names of topics counts: `\\d` means more digits in Python, but no topic has
    any of them.
    """
    cleaned = clean(expression)
    try:
        notes = parse(cleaned).notes
    except JavaRefusalError as error:
        return f"java.util.regex refuses {cleaned!r}: {error}"
    except UntellableError as error:
        return f"what {cleaned!r} means depends on the Java runtime: {error}"
    if notes:
        return f"{cleaned!r}: {notes[0]}"
    compiled = _python(cleaned)
    if isinstance(compiled, str):
        return f"Python refuses {cleaned!r}, which java.util.regex takes: {compiled}"
    return None


def untellable(expression: str) -> str | None:
    """What the expression depends on that differs between Java runtimes; None when nothing."""
    try:
        parse(clean(expression))
    except UntellableError as error:
        return str(error)
    except JavaRefusalError:
        return None
    return None


def _python(cleaned: str) -> re.Pattern[str] | str:
    """Python's reading, or why it has none."""
    try:
        return re.compile(cleaned)
    except (re.error, OverflowError) as error:
        return str(error)


def _by_python(compiled: re.Pattern[str]) -> Matcher:
    return lambda topic: compiled.fullmatch(topic) is not None


def _by_parts(root: Node) -> Matcher:
    return lambda topic: Match(root, topic).whole()
