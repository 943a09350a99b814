"""How much one batch takes, and into how many tasks it is cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.ranges.splitting import Splitting

DELAY_MAX_MS = 15 * 60 * 1000

_AMOUNT = re.compile("([0-9]+)([a-z]*)")
# Times and sizes have units, as in Spark's own options.
_UNITS_MS: Mapping[str, Fraction] = {
    "": Fraction(1),
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "m": Fraction(60_000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
    "d": Fraction(rules.DAY_MS),
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
    # 19 digits hold 2**63 - 1; int() has its own limit.
    amount = int(int(digits) * units[unit]) if len(digits.lstrip("0")) <= 19 else None
    if amount is None or not low <= amount <= rules.LONG_MAX:
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

SECTION: Final = Section(__name__, "How much to read at a time")

MAX_OFFSETS = SECTION.optional(
    "maxOffsetsPerTrigger", rules.whole_number(1, rules.LONG_MAX), in_batch="ignored"
)
"""Maximum number of offsets per batch, divided among partitions in proportion to their backlog.
Each partition with a backlog advances by at least one offset.
"""
MAX_BYTES = SECTION.optional("maxBytesPerTrigger", SIZE)
"""Approximate maximum number of bytes per batch, as stored (compressed) on the brokers. Estimated
from a sample of each partition at the start of the batch, with a small fetch from each leader; a
batch deviates as much as record sizes change after the sample. Each partition with a backlog
advances by at least one offset. If maxOffsetsPerTrigger is set too, both limits apply.
"""
MIN_OFFSETS = SECTION.optional(
    "minOffsetsPerTrigger", rules.whole_number(1, rules.LONG_MAX), in_batch="ignored"
)
"""Delay a batch until the partitions of this query have this many offsets to read, or
maxTriggerDelay has passed. Does not apply to the first batch of a run, nor with
trigger(availableNow=True) or trigger(once=True). Commits and rebalances continue meanwhile.
"""
MAX_DELAY: Final[Option[int]] = SECTION.option(
    "maxTriggerDelay", DURATION_MS, DELAY_MAX_MS, default_text="15m", in_batch="ignored"
)
"""Maximum time after the last batch for which minOffsetsPerTrigger delays the next one."""
ENDS_BY_ITSELF = SECTION.optional("endsByItself", rules.FLAG, in_batch="ignored")
"""Only for Spark 4.0 and 4.1, which do not pass the trigger to a source, and run a single batch
with trigger(availableNow=True) or trigger(once=True). true: this is such a query; its batch
reads everything, and maxOffsetsPerTrigger and maxBytesPerTrigger do not apply. false: it is not.
Required there when either limit is set. Spark 4.2 and later pass the trigger, and ignore this
option.
"""
MIN_PARTITIONS = SECTION.optional("minPartitions", rules.whole_number(1, rules.INT_MAX))
"""Approximate minimum number of tasks per batch. By default there is one per thread with something
to read. With this option, large ones are split in proportion to their offsets.
"""
MAX_RECORDS = SECTION.optional("maxRecordsPerPartition", rules.whole_number(1, rules.LONG_MAX))
"""Maximum number of offsets per task (per partition of Spark, not of Kafka). Larger ones are split
into equal parts.
"""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    offsets_max: int | None = None
    bytes_max: int | None = None
    offsets_min: int | None = None
    delay_max_ms: int = DELAY_MAX_MS
    """How long after the last batch one is held back at the longest."""
    ends_by_itself: bool | None = None
    """Whether the query has one batch, where Spark does not tell."""
    splitting: Splitting = field(default_factory=Splitting)


def batch_limits(given: Given) -> BatchLimits:
    most, least = given.value(MAX_OFFSETS), given.value(MIN_OFFSETS)
    if most is not None and least is not None and least > most:
        raise given.clash(MIN_OFFSETS, MAX_OFFSETS, "Make the first no greater than the second")
    if least is None:
        given.refuse(
            [MAX_DELAY],
            "'minOffsetsPerTrigger' is not given",
            "Give it too, or leave 'maxTriggerDelay' out: without it no batch is held back",
        )
    return BatchLimits(
        offsets_max=most,
        bytes_max=given.value(MAX_BYTES),
        offsets_min=least,
        delay_max_ms=given.value(MAX_DELAY),
        ends_by_itself=given.value(ENDS_BY_ITSELF),
        splitting=Splitting(given.value(MIN_PARTITIONS), given.value(MAX_RECORDS)),
    )
