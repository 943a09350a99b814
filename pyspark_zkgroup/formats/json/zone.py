"""A time zone as the instants at which its offset changes, for the native parser.

Java and Python may know different rules of the past, so that a region's offsets are known only from
1970 on. By 2100 the last rules that are known hold; behind 2500 the parser repeats the 400 years
before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

_FIXED = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::(\d{2}))?)?|Z")
_FIRST_S = 0
_END_S = int(datetime(2500, 1, 1, tzinfo=timezone.utc).timestamp())
_STEP_S = 86_400 * 7
_EVER = (-(2**62), _END_S)
_HOURS_MAX = 18


@dataclass(frozen=True, slots=True)
class Offsets:
    first_s: int
    changes: tuple[tuple[int, int], ...]
    span_s: tuple[int, int]


@cache
def offsets(name: str) -> Offsets:
    """ValueError if there is no such zone; it says why, without the name."""
    fixed = _FIXED.fullmatch(name)
    if fixed is not None and name:
        sign, hours, minutes = fixed.groups()
        seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60
        if seconds > _HOURS_MAX * 3600 or int(minutes or 0) > 59:
            raise ValueError(f"is more than {_HOURS_MAX} hours from UTC")
        return Offsets(-seconds if sign == "-" else seconds, (), _EVER)
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise ValueError("is no time zone") from error
    first = _offset_s(zone, _FIRST_S)
    return Offsets(first, tuple(_changes(zone, first)), (_FIRST_S + 86_400, _END_S))


def _changes(zone: ZoneInfo, offset_s: int) -> Iterator[tuple[int, int]]:
    for begin in range(_FIRST_S, _END_S, _STEP_S):
        while _offset_s(zone, begin + _STEP_S) != offset_s:
            low, high = begin, begin + _STEP_S
            while high - low > 1:
                middle = (low + high) // 2
                if _offset_s(zone, middle) == offset_s:
                    low = middle
                else:
                    high = middle
            offset_s = _offset_s(zone, high)
            yield high, offset_s


def _offset_s(zone: ZoneInfo, at_s: int) -> int:
    offset = datetime.fromtimestamp(at_s, zone).utcoffset() or timedelta(0)
    return int(offset.total_seconds())
