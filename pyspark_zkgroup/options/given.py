"""The texts that were given, by option: each name is known, each value legal, or the first that is
not is raised as an OptionError with its name, what was given, and what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options.option import OldName, Option, Table
from pyspark_zkgroup.options.refusals import (
    ADDED_BY_SPARK,
    ADDED_BY_SPARK_PREFIX,
    FIXED,
    OTHERS_OF_KAFKA,
    REFUSED,
    Fixed,
    Refused,
)

T = TypeVar("T")

_SHOWN_MAX = 200


class Given:
    """The values given, by option, each under the name and with the text the user wrote."""

    def __init__(self, options: Mapping[str, str], table: Table) -> None:
        self.table = table
        self._texts: dict[Option[Any], tuple[str, str]] = {}
        self._values: dict[Option[Any], object] = {}
        for lowered, (name, text) in _by_lowered_name(options, table).items():
            known = table.known.get(lowered)
            if known is not None:
                self._read(known, text)
            elif lowered in _FIXED:
                _check_fixed(_FIXED[lowered], text)
            elif lowered not in ADDED_BY_SPARK and not lowered.startswith(ADDED_BY_SPARK_PREFIX):
                raise _unknown(name, text, table)

    def _read(self, known: Option[Any] | OldName, text: str) -> None:
        option = known.option
        value = _read(known, text)
        if option not in self._values:
            self._texts[option] = known.name, text
            self._values[option] = value
        elif self._values[option] != value:
            raise _differ(option, self._texts[option], (known.name, text))

    def __contains__(self, option: Option[Any]) -> bool:
        return option in self._values

    def options(self) -> list[Option[Any]]:
        """Those that are given."""
        return list(self._values)

    def value(self, option: Option[T]) -> T:
        return cast(T, self._values.get(option, option.default))

    def shown(self, option: Option[Any]) -> str:
        """`'name' is 'text'`, for messages: with the name and text given, or the default."""
        if option not in self._texts:
            return f"{option.name!r} is {option.default_shown} by default"
        name, text = self._texts[option]
        return f"{name!r} is {_shown(text, secret=option.secret)}"

    def error(self, option: Option[Any], what: str, remedy: str) -> OptionError:
        """`what` follows the option and its value: ", which ..."."""
        return OptionError.of("invalid", option=self.shown(option), what=what, remedy=remedy)

    def clash(self, option: Option[Any], other: Option[Any] | str, remedy: str) -> OptionError:
        """An option that cannot be combined with another one, or with a fact."""
        but = other if isinstance(other, str) else self.shown(other)
        return self.error(option, f", but {but}", remedy)

    def first(self, *options: Option[Any]) -> Option[Any]:
        """The first that is given, or the last."""
        return next((option for option in options if option in self), options[-1])

    def refuse(self, options: Iterable[Option[Any]], but: str, remedy: str) -> None:
        """Raise for the first of these options that is given."""
        for option in options:
            if option in self:
                raise self.clash(option, but, remedy)


_FIXED: Mapping[str, Fixed] = {fixed.name.lower(): fixed for fixed in FIXED}
_REFUSED: Mapping[str, Refused] = {refused.name.lower(): refused for refused in REFUSED}


def _by_lowered_name(options: Mapping[str, str], table: Table) -> dict[str, tuple[str, str]]:
    """Name and text. Spark lowers names itself, but a plain mapping may hold one name twice."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in options.items():
        if not isinstance(text, str):
            raise OptionError.of("option_not_text", name=name, type=type(text).__name__)
        earlier = found.setdefault(name.lower(), (name, text))
        if earlier[1] != text:
            secret = table.is_secret(name)
            raise OptionError.of(
                "option_twice",
                name=earlier[0],
                other=name,
                value=_shown(earlier[1], secret=secret),
                other_value=_shown(text, secret=secret),
            )
    return found


def _read(known: Option[Any] | OldName, text: str) -> object:
    option = known.option
    try:
        # Blanks around a value are slips, except around a password.
        return known.rule.read(text if option.secret else text.strip())
    except ValueError as error:
        named = repr(known.name) if known is option else f"{known.name!r} (for {option.name!r})"
        raise OptionError.of(
            "bad_value",
            option=named,
            value=_shown(text, secret=option.secret),
            error=error,
            allowed=known.rule.allowed,
        ) from None


def _differ(option: Option[Any], first: tuple[str, str], second: tuple[str, str]) -> OptionError:
    (name, text), (other_name, other_text) = sorted([first, second])
    return OptionError.of(
        "synonyms_differ",
        name=name,
        other=other_name,
        value=_shown(text, secret=option.secret),
        other_value=_shown(other_text, secret=option.secret),
        option=option.name,
    )


def _check_fixed(fixed: Fixed, text: str) -> None:
    if text.strip().lower() != fixed.value.lower():
        raise OptionError.of(
            "fixed_option",
            name=fixed.name,
            value=_shown(text),
            reason=fixed.why,
            remedy=fixed.instead,
        )


def _unknown(name: str, text: str, table: Table) -> OptionError:
    lowered = name.lower()
    refused = _REFUSED.get(lowered)
    if refused is not None:
        return _is_refused(refused, refused.name, text, secret=table.is_secret(lowered))
    nearest = _nearest(lowered, table)
    secret = table.is_secret(lowered) or (nearest is not None and table.is_secret(nearest))
    if nearest is None and lowered.startswith("kafka."):
        return _is_refused(OTHERS_OF_KAFKA, name, text, secret=secret)
    known = f"Known options: {', '.join(option.name for option in table.options)}"
    return OptionError.of(
        "unknown_option",
        name=name,
        value=_shown(text, secret=secret),
        known=known if nearest is None else _described(nearest, table),
    )


def _is_refused(refused: Refused, name: str, text: str, *, secret: bool) -> OptionError:
    return OptionError.of(
        "refused_option",
        name=name,
        value=_shown(text, secret=secret),
        reason=refused.why,
        remedy=refused.instead,
    )


def _nearest(lowered: str, table: Table) -> str | None:
    """Of the names of Kafka's clients there are hundreds: only a slip in one of ours is guessed."""
    of_kafka = lowered.startswith("kafka.")
    every = (*table.known, *_FIXED, *_REFUSED)
    names = [name for name in every if name.startswith("kafka.") or not of_kafka]
    return next(iter(difflib.get_close_matches(lowered, names, 1, 0.9 if of_kafka else 0.6)), None)


def _described(lowered: str, table: Table) -> str:
    if lowered in table.known:
        known = table.known[lowered]
        return f"Did you mean {known.name!r}? Allowed there: {known.rule.allowed}"
    if lowered in _FIXED:
        fixed = _FIXED[lowered]
        return f"Did you mean {fixed.name!r}? Allowed there: {fixed.value}"
    refused = _REFUSED[lowered]
    return f"Did you mean {refused.name!r}? It is refused: {refused.why}. {refused.instead}"


def _shown(text: str, *, secret: bool = False) -> str:
    if secret:
        return "'*****'"
    return repr(text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "...")
