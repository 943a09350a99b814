"""White and black lists: which topics an expression means, to every member of the group."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.jvm.safe_pattern import (
    Alternative,
    InvalidPatternError,
    UnsupportedPatternError,
    translate,
)

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})
"""The brokers' own topics, which a list never means unless exclude.internal.topics is false."""

Matcher = Callable[[str], bool]

_TRIMMED = "".join(map(chr, range(0x21)))
_QUOTES = "\"'"
# Every member compiles the pattern of every other one, at each look.
_KEPT = 256
# What RE2 may use for one expression: repetitions of repetitions grow beyond it.
_MEMORY_MAX = 1 << 20


def clean(expression: str) -> str:
    """The text that the JVM makes of the user's, when it registers and again when it reads: blanks
    go, commas become alternatives, quotes around the whole go."""
    return expression.strip(_TRIMMED).replace(",", "|").replace(" ", "").strip(_QUOTES)


@lru_cache(_KEPT)
def compile_expression(expression: str) -> Matcher:
    """Return a function that tells whether a whole name of a topic matches the cleaned expression.
    SubscriptionError where it is not supported.
    """
    cleaned = clean(expression)
    try:
        return _matcher(translate(cleaned))
    except InvalidPatternError as error:
        raise SubscriptionError.of("bad_pattern", pattern=_shown(cleaned), error=error) from error
    except UnsupportedPatternError as error:
        raise SubscriptionError.of(
            "unsupported_pattern", pattern=_shown(cleaned), error=error, remedy=error.instead
        ) from error


@lru_cache(_KEPT)
def is_unsupported(expression: str) -> bool:
    """Whether a JVM member may read the expression although this one cannot."""
    try:
        _matcher(translate(clean(expression)))
    except UnsupportedPatternError:
        return True
    except InvalidPatternError:
        pass
    return False


def _matcher(alternatives: tuple[Alternative, ...]) -> Matcher:
    found = tuple(
        (_compiled(one.text), _each(one.ahead), _each(one.not_ahead)) for one in alternatives
    )

    def matches(topic: str) -> bool:
        return any(
            whole.fullmatch(topic) is not None
            and all(each.match(topic) is not None for each in ahead)
            and not any(each.match(topic) is not None for each in not_ahead)
            for whole, ahead, not_ahead in found
        )

    return matches


def _each(texts: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(map(_compiled, texts))


def _compiled(text: str) -> Any:
    import re2  # most queries name their topics

    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise UnsupportedPatternError(
            "an expression with so many repetitions", "Use fewer or smaller repetitions"
        ) from error


def _shown(cleaned: str) -> str:
    return repr(cleaned if len(cleaned) <= 200 else f"{cleaned[:200]}...")
