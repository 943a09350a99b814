"""The columns of rows: those that `.schema(...)` names, or without it the same for every reader."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Section
from pyspark_zkgroup.schema import COLUMNS, HEADERS, WITH_HEADERS, Column, Type

SECTION: Final = Section(__name__, "Columns")

INCLUDE_HEADERS = SECTION.option("includeHeaders", rules.FLAG, False)
"""Without `.schema(...)`, give rows a column `headers` of the type
array<struct<key:string,value:binary>>: null for a record without any.
"""

_ALLOWED_TYPES: dict[str, tuple[Type, ...]] = {
    **{column.name: (column.type,) for column in WITH_HEADERS},
    "key": ("binary", "string"),
    "value": ("binary", "string"),
}


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    include_headers: bool = False

    @property
    def default(self) -> tuple[Column, ...]:
        """Those of a reader without `.schema(...)`."""
        return WITH_HEADERS if self.include_headers else COLUMNS

    def check(self, requested: tuple[Column, ...]) -> None:
        """OptionError unless rows can have exactly these columns."""
        if not requested:
            raise OptionError(".schema(...) names no column", f"Name some of: {_names()}")
        seen = set()
        for column in requested:
            if column.name not in _ALLOWED_TYPES:
                near = difflib.get_close_matches(column.name.lower(), _ALLOWED_TYPES, 1, 0.6)
                hint = f"Did you mean {near[0]!r}? " if near else ""
                raise OptionError(
                    f".schema(...) names the column {column.name!r}, which records do not have",
                    f"{hint}Name some of: {_names()}",
                )
            if column.name in seen:
                raise OptionError(
                    f".schema(...) names the column {column.name!r} twice", "Name it once"
                )
            seen.add(column.name)
            _check_type(column)
        if self.include_headers and HEADERS.name not in seen:
            raise OptionError(
                "Option 'includeHeaders' is 'true', but .schema(...) does not name the column "
                "'headers'",
                f"Add {_ddl(HEADERS.name, HEADERS.type)} to the schema, or leave the option out",
            )


def column_options(given: Given) -> ColumnOptions:
    return ColumnOptions(given.value(INCLUDE_HEADERS))


def _check_type(column: Column) -> None:
    allowed = _ALLOWED_TYPES[column.name]
    if column.type not in allowed:
        raise OptionError(
            f".schema(...) gives the column {column.name!r} the type {_shown(column.type)}, but it "
            f"is {' or '.join(map(_shown, allowed))}",
            f"Write {_ddl(column.name, allowed[0])} in the schema, and cast the column after "
            "load()",
        )


def _names() -> str:
    return ", ".join(_ALLOWED_TYPES)


def _ddl(name: str, kind: Type) -> str:
    return f"'{name} {_shown(kind)}'"


def _shown(kind: Type) -> str:
    return str(kind).upper() if isinstance(kind, str) else str(kind)
