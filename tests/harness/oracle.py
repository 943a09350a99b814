"""Judges what a group of queries has read: every acknowledged record, counted in all sinks.

A record is (topic, partition, offset). Records of one batch that are delivered twice count twice,
whichever query delivered them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Record = tuple[str, int, int]


@dataclass(frozen=True)
class Verdict:
    """`duplicates`: how often each record was delivered that came more than once. `unknown`:
    delivered, and never acknowledged by a broker.
    """

    acknowledged: int
    delivered: int
    missing: tuple[Record, ...]
    duplicates: Mapping[Record, int]
    unknown: tuple[Record, ...]

    def __str__(self) -> str:
        return (
            f"acknowledged {self.acknowledged}, delivered {self.delivered}, "
            f"missing {len(self.missing)}{_some(self.missing)}, "
            f"duplicates {len(self.duplicates)}{_some(sorted(self.duplicates))}, "
            f"unknown {len(self.unknown)}{_some(self.unknown)}"
        )

    @property
    def exactly_once(self) -> bool:
        return not (self.missing or self.duplicates or self.unknown)


def judge(acknowledged: Iterable[Record], delivered: Iterable[Record]) -> Verdict:
    expected = set(acknowledged)
    counted = Counter(delivered)
    return Verdict(
        acknowledged=len(expected),
        delivered=counted.total(),
        missing=tuple(sorted(expected - counted.keys())),
        duplicates={record: times for record, times in counted.items() if times > 1},
        unknown=tuple(sorted(counted.keys() - expected)),
    )


def _some(records: Iterable[Record]) -> str:
    """The first and the last of each partition, so that a failure shows where to look."""
    by_partition: dict[tuple[str, int], list[int]] = {}
    for topic, partition, offset in records:
        by_partition.setdefault((topic, partition), []).append(offset)
    if not by_partition:
        return ""
    spans = [f"{t}-{p}: {o[0]}..{o[-1]}" for (t, p), o in sorted(by_partition.items())]
    return " (" + ", ".join(spans[:12]) + (", ..." if len(spans) > 12 else "") + ")"
