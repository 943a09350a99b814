"""Writers that append one partition to one table write each record once, in all interleavings
(ingest_worlds.py), and each planted fault shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pyspark_zkgroup.delta.direct import bounds, rules
from pyspark_zkgroup.delta.direct.bounds import Look, Marks
from pyspark_zkgroup.delta.direct.rules import Decision
from tests.property.ingest_worlds import LOGS, P, Rules, World, Writer, mixed, worlds


@pytest.mark.parametrize("records", LOGS[1:3], ids=str)
def test_two_members_write_each_record_once(records: frozenset[int]) -> None:
    assert worlds(records, Rules(), twin=False) > 1000


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.long), 2, 3])
def test_members_that_compare_rows_write_each_record_once(number: int) -> None:
    records = LOGS[1]
    world = list(mixed(records))[number]
    assert worlds(records, Rules(), twin=False, first=world) > 1000


def no_cut(*given: Any) -> Decision:
    found = rules.decide(*given)
    return replace(found, add=(*found.add, *(cut.file for cut in found.cut)), cut=())


def straddling_dropped(*given: Any) -> Decision:
    return replace(rules.decide(*given), cut=())


def present_added(watermarks: Any, read: Any, files: Any, known: Any) -> Decision:
    found = rules.decide(watermarks, read, files, known)
    return replace(found, add=tuple(files), cut=())


def only_with_rows(watermarks: Any, read: Any, files: Any, known: Any) -> Decision:
    found = rules.decide(watermarks, read, files, known)
    return found if files else replace(found, advance={})


def bound_forgotten(watermarks: Any, read: Any, files: Any, _known: Any) -> Decision:
    return rules.decide(watermarks, read, files)


def bound_cleared_early(*given: Any) -> Decision:
    found = rules.decide(*given)
    return replace(found, passed=frozenset({P}) if found.advance else frozenset())


def nothing_compared(*given: Any) -> Look:
    return replace(bounds.look(*given), compared={})


def bound_not_moved(*given: Any) -> Look:
    return replace(bounds.look(*given), bounds={})


def watermark_not_looked_at(marks: Marks, ranges: Any, logs: Any) -> Look:
    return bounds.look(Marks({}, marks.bounds), ranges, logs)


def to_last_row(start: int, until: int, offsets: frozenset[int]) -> tuple[int, int]:
    return start, max(offsets, default=until - 1) + 1


BELOW_THE_BOUND = (bound_forgotten, bound_cleared_early)
FAULTS = {
    "a file that straddles the watermark is added whole": (Rules(decide=no_cut), "twice"),
    "a file that straddles the watermark is dropped": (
        Rules(decide=straddling_dropped),
        "missing",
    ),
    "files below the watermark are added": (Rules(decide=present_added), "twice"),
    "a range without rows moves no watermark": (Rules(decide=only_with_rows), "beyond|gap"),
    "the last row is taken for the end": (Rules(read=to_last_row), "beyond|gap"),
    "the watermark may have moved since it was read": (Rules(conflicts=False), "twice|missing"),
    "a conflict commits what was decided before": (Rules(decides_again=False), "twice|missing"),
    "a range that is left out moves the watermark": (Rules(reports_left_out=True), "missing"),
    "files below the bound are not compared": (Rules(decide=bound_forgotten), "twice|gap"),
    "a bound is cleared below its watermark": (Rules(decide=bound_cleared_early), "beyond|twice"),
    "rows below the bound are not compared": (Rules(look=nothing_compared), "twice"),
    "an append moves no bound": (Rules(look=bound_not_moved), "beyond"),
    "an append ignores the watermarks of files": (Rules(look=watermark_not_looked_at), "twice"),
}


def all_worlds(rule: Rules) -> None:
    """Of rules for files where files are decided about, else of members that compare rows."""
    is_mixed = rule.look is not bounds.look or rule.decide in BELOW_THE_BOUND
    for records in LOGS[1:3] if is_mixed else LOGS:
        for world in mixed(records) if is_mixed else [World((Writer(), Writer()))]:
            worlds(records, rule, twin=False, first=world)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rule, found = FAULTS[fault]
    with pytest.raises(AssertionError, match=found):
        all_worlds(rule)


@pytest.mark.long
@pytest.mark.parametrize("records", LOGS, ids=str)
def test_a_second_driver_on_one_checkpoint_changes_nothing(records: frozenset[int]) -> None:
    assert worlds(records, Rules(), twin=True) > 1000
