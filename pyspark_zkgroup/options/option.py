"""Rows, sections and the table of options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pyspark_zkgroup.options.rules import Rule

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
InBatch = Literal["taken", "refused", "ignored", "only"]
"""What a batch read does with an option: `ignored` is with a warning, and `only` means that a
stream refuses it.
"""

_SECRET_NAMES = re.compile("auth|credential|jaas|key|password|secret|token")


@dataclass(frozen=True, eq=False)
class Option(Generic[T_co]):
    """One row. The docstring below it is its text on the options page; docs.py reads it."""

    name: str
    section: Section
    rule: Rule[T_co]
    default: T_co
    default_text: str = ""
    secret: bool = False
    in_batch: InBatch = "taken"

    @property
    def default_shown(self) -> str:
        if self.default_text:
            return self.default_text
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return str(self.default) if self.default or self.default == 0 else "none"

    @property
    def option(self) -> Option[T_co]:
        """Itself; an OldName has the option that it stands for."""
        return self


class OldName:
    """Another name of an option; with a separate rule where its values have other names too."""

    def __init__(self, name: str, option: Option[Any], rule: Rule[Any] | None = None) -> None:
        self.name = name
        self.option = option
        self.rule = rule or option.rule


class Section:
    """Rows of a module under one heading of the options page, in the order of their declaration."""

    def __init__(self, module: str, heading: str) -> None:
        self.module = module
        self.heading = heading
        self._rows: list[Option[Any]] = []

    def option(self, name: str, rule: Rule[T], default: T, **more: Any) -> Option[T]:
        """`more` are further fields of Option."""
        row = Option(name, self, rule, default, **more)
        self._rows.append(row)
        return row

    def optional(self, name: str, rule: Rule[T], **more: Any) -> Option[T | None]:
        """Without a default: None where it is not given."""
        return self.option(name, rule, None, **more)

    def __iter__(self) -> Iterator[Option[Any]]:
        return iter(self._rows)


class Table:
    """All options that a reader takes, in the order of the page. Case does not matter in names."""

    def __init__(self, sections: Iterable[Section], old_names: Iterable[OldName] = ()) -> None:
        self.options = tuple(option for section in sections for option in section)
        self.old_names = tuple(old_names)
        names: list[Option[Any] | OldName] = [*self.options, *self.old_names]
        self.known = {known.name.lower(): known for known in names}

    def is_secret(self, name: str) -> bool:
        """A name that is not known may be a secret's with a slip in it."""
        known = self.known.get(name.lower())
        return known.option.secret if known else bool(_SECRET_NAMES.search(name.lower()))
