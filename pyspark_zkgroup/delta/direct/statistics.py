"""The statistics of a written file, as Delta's log has them, from the file's own metadata.

A reader leaves files out by them, so each must hold for all rows of the file: a bound that is not
known is left out. That is so for floating-point columns, where Parquet does not count NaN, and for
what Python or JSON cannot hold: times outside the years 1 to 9999, text that is not UTF-8, long
decimals.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

INDEXED_COLUMNS = 32
PREFIX = 32
_LAST_CHARACTER = "\U0010ffff"
_MILLISECOND = timedelta(milliseconds=1)
_UNBOUNDED = ("FLOAT", "DOUBLE")


def statistics(metadata: pq.FileMetaData, columns: Iterable[str]) -> str:
    """Return numRecords, minValues, maxValues and nullCount of these leaf columns, as JSON."""
    paths = Counter(metadata.schema.column(n).path for n in range(metadata.num_columns))
    # Two columns share a path where a name has a dot.
    wanted = {path for path in columns if paths[path] == 1}
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for number in range(metadata.num_columns):
        path = metadata.schema.column(number).path
        if path not in wanted:
            continue
        chunks = [
            metadata.row_group(group).column(number).statistics
            for group in range(metadata.num_row_groups)
        ]
        if any(one is None or not one.has_null_count for one in chunks):
            continue
        _put(nulls, path, sum(one.null_count for one in chunks))
        bounded = [one for one in chunks if one.num_values]
        if metadata.schema.column(number).physical_type in _UNBOUNDED:
            continue
        if bounded and all(one.has_min_max for one in bounded):
            least, most = _bounds(bounded)
            _put(lowest, path, least)
            _put(highest, path, most)
    found = {
        "numRecords": metadata.num_rows,
        "minValues": lowest,
        "maxValues": highest,
        "nullCount": nulls,
    }
    return json.dumps(found, separators=(",", ":"))


def _bounds(chunks: list[pq.Statistics]) -> tuple[Any, Any]:
    """Return the lowest and the highest value; None for one that the log cannot have."""
    try:
        return _lower(min(one.min for one in chunks)), _upper(max(one.max for one in chunks))
    except (OverflowError, UnicodeDecodeError):
        return None, None


def _put(into: dict[str, Any], path: str, value: Any) -> None:
    """As Delta nests them: `value.id` is {"value": {"id": ...}}."""
    if value is None:
        return
    *above, last = path.split(".")
    for name in above:
        into = into.setdefault(name, {})
    into[last] = value


def _lower(value: Any) -> Any:
    match value:
        case str():
            return value[:PREFIX]
        case bytes() | bool():
            return None
        case datetime():
            return _time(value - timedelta(microseconds=value.microsecond % 1000))
        case date():
            return value.isoformat()
        case Decimal():
            return _number(value)
        case _:
            return value


def _upper(value: Any) -> Any:
    """Bounds are cut: text after some characters, times after milliseconds. Then they are raised,
    so that they still are bounds.
    """
    match value:
        case str() if len(value) > PREFIX:
            below_last = value[PREFIX] < _LAST_CHARACTER
            return value[:PREFIX] + _LAST_CHARACTER if below_last else None
        case datetime() if rest := value.microsecond % 1000:
            return _time(value - timedelta(microseconds=rest) + _MILLISECOND)
        case _:
            return _lower(value)


def _time(value: datetime) -> str:
    text = value.astimezone(timezone.utc) if value.tzinfo else value
    shown = text.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{shown}Z" if value.tzinfo else shown


def _number(value: Decimal) -> int | float | None:
    """Return the JSON number that is exactly the value."""
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else None
