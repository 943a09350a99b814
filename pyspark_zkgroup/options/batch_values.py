"""Times and sizes with a unit, as Spark reads them in its own options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from pyspark_zkgroup.options.values import LONG_MAX, Rule

_AMOUNT = re.compile("([0-9]+)([a-z]*)")
_DAY_MS = 24 * 3_600_000
_UNITS_MS: Mapping[str, Fraction] = {
    "": Fraction(1),
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "m": Fraction(60_000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
    "d": Fraction(_DAY_MS),
}
_UNITS_BYTES: Mapping[str, Fraction] = {
    "": Fraction(1),
    "b": Fraction(1),
    **{f"{letter}{b}": Fraction(1024**n) for n, letter in enumerate("kmgtp", 1) for b in ("", "b")},
}


def _amount(text: str, units: Mapping[str, Fraction], low: int) -> int:
    match = _AMOUNT.fullmatch(text.lower())
    if match is None or not text.isascii():
        raise ValueError("is not a whole number with a unit")
    digits, unit = match.groups()
    if unit not in units:
        raise ValueError(f"has the unknown unit {unit!r}")
    # 19 digits hold 2**63 - 1; int() has a limit of its own.
    amount = int(int(digits) * units[unit]) if len(digits.lstrip("0")) <= 19 else None
    if amount is None or not low <= amount <= LONG_MAX:
        raise ValueError("is out of range")
    return amount


DURATION_MS: Rule[int] = Rule(
    "a whole number and a unit (us, ms, s, m or min, h, d), such as 30s or 15m; milliseconds "
    "without one",
    lambda text: _amount(text, _UNITS_MS, 0),
)
SIZE: Rule[int] = Rule(
    "a whole number from 1, of bytes or with a unit (b, k, m, g, t, p; kb is k), such as 256m",
    lambda text: _amount(text, _UNITS_BYTES, 1),
)
