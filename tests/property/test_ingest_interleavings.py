"""All interleavings of writers that append one partition to one table, with a crash at each step.

Two members claim the partition from each other at any time, also in the middle of a batch, so each
of them is sometimes an early, sometimes a late zombie. Each plans ranges of any length from the
group's offset. A member that crashes replays its logged plan, or has lost its checkpoint and plans
from the start. A second driver may run the same logged plan at the same time. A commit may take
effect and its answer be lost. In each state that can be reached the table holds exactly the records
below its watermark, each once, and the group's offset is not beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import pytest

from pyspark_zkgroup.delta.direct import rules
from pyspark_zkgroup.delta.direct.rules import Cut, Decision, Log, ReadRange, WrittenFile
from pyspark_zkgroup.model import OffsetRange

LOG = Log("t", 0, "an id")
END = 4
# Transaction markers: the end of a range without a record, and a whole range without one.
LOGS = (frozenset({0, 1, 2, 3}), frozenset({0, 1, 3}), frozenset({0, 3}), frozenset({1}))

Phase = Literal["down", "idle", "planned", "written", "looked", "committed", "finished"]
Decide = Callable[[dict[Log, int], list[ReadRange], list[WrittenFile]], Decision]


@dataclass(frozen=True)
class Writer:
    """`plan` is in the checkpoint and outlives a crash, and so does `is_finished`. `is_fenced`: the
    partition has been claimed by another member since the plan.
    """

    phase: Phase = "idle"
    plan: tuple[int, int] | None = None
    is_finished: bool = False
    is_fenced: bool = False
    saw: int | None = None


@dataclass(frozen=True)
class World:
    """`twin` is a second driver on the checkpoint of the first writer."""

    writers: tuple[Writer, Writer]
    twin: Writer | None = None
    watermark: int | None = None
    rows: tuple[int, ...] = ()
    group: int = 0


@dataclass(frozen=True)
class Rules:
    """What decides; a planted fault replaces a part."""

    decide: Decide = rules.decide
    read: Callable[[int, int, frozenset[int]], tuple[int, int]] = lambda start, until, _: (
        start,
        until,
    )
    conflicts: bool = True
    decides_again: bool = True
    reports_left_out: bool = False


def worlds(records: frozenset[int], rule: Rules, twin: bool) -> int:
    """Visit every state that can be reached; return how many there are."""
    first = World((Writer(), Writer()))
    seen = {first}
    left = [first]
    while left:
        world = left.pop()
        check(world, records)
        for after in steps(world, records, rule, twin):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return len(seen)


def all_worlds(rule: Rules) -> None:
    for records in LOGS:
        worlds(records, rule, twin=False)


def check(world: World, records: frozenset[int]) -> None:
    watermark = world.watermark or 0
    assert len(set(world.rows)) == len(world.rows), f"twice: {world}"
    assert set(world.rows) == {r for r in records if r < watermark}, f"missing: {world}"
    assert world.group <= watermark, f"the group's offset is beyond the table: {world}"


def steps(world: World, records: frozenset[int], rule: Rules, twin: bool) -> Iterator[World]:
    for place, writer in enumerate(world.writers):
        for after in moved(world, writer, records, rule):
            yield with_writer(after[0], place, after[1])
        yield from planned(world, place)
        if writer.phase == "looked":
            yield from committed(world, writer, records, rule, place)
    if world.twin is not None:
        for after in moved(world, world.twin, records, rule):
            yield replace(after[0], twin=after[1])
        if world.twin.phase == "looked":
            yield from committed(world, world.twin, records, rule, None)
    first = world.writers[0]
    if twin and world.twin is None and first.plan and not first.is_finished:
        yield replace(world, twin=replace(first, phase="planned", saw=None))


def with_writer(world: World, place: int, writer: Writer) -> World:
    both = list(world.writers)
    both[place] = writer
    return replace(world, writers=(both[0], both[1]))


def planned(world: World, place: int) -> Iterator[World]:
    """It claims the partition, which fences all plans that others have made of it."""
    if world.writers[place].phase != "idle":
        return
    others = tuple(replace(w, is_fenced=w.plan is not None) for w in world.writers)
    fenced = replace(
        world,
        writers=(others[0], others[1]),
        twin=world.twin and replace(world.twin, is_fenced=True),
    )
    for until in range(world.group + 1, END + 1):
        yield with_writer(fenced, place, Writer("planned", (world.group, until)))


def moved(
    world: World, writer: Writer, records: frozenset[int], rule: Rules
) -> Iterator[tuple[World, Writer]]:
    phase = writer.phase
    if phase == "planned":
        yield world, replace(writer, phase="written")
    elif phase == "written":
        yield world, replace(writer, phase="looked", saw=world.watermark)
    elif phase == "committed":
        yield world, replace(writer, phase="finished", is_finished=True)
    elif phase == "finished":
        yield group_committed(world, writer), Writer()
    elif phase == "down":
        yield world, Writer()  # the checkpoint is lost
        if writer.plan is None:
            return
        if writer.is_finished:
            yield world, replace(writer, phase="finished")
        elif not writer.is_fenced:
            yield world, replace(writer, phase="planned")
        else:
            yield left_out(world, writer, records, rule), Writer()
    if phase not in ("down", "idle"):
        yield world, replace(writer, phase="down", saw=None)


def group_committed(world: World, writer: Writer) -> World:
    assert writer.plan is not None
    return world if writer.is_fenced else replace(world, group=writer.plan[1])


def left_out(world: World, writer: Writer, records: frozenset[int], rule: Rules) -> World:
    """A replay whose range another member has taken over: no task reads it."""
    if not rule.reports_left_out:
        return world
    decision = decided(replace(writer, saw=world.watermark), frozenset(), rule)
    return applied(world, decision)


def decided(writer: Writer, records: frozenset[int], rule: Rules) -> Decision:
    assert writer.plan is not None
    start, until = writer.plan
    offsets = sorted(r for r in records if start <= r < until)
    # Two files where there are enough records, so that one is dropped and one is cut.
    parts = [offsets[:1], offsets[1:]] if len(offsets) > 2 else [offsets]
    files = [
        WrittenFile(" ".join(map(str, part)), LOG, part[0], part[-1], len(part))
        for part in parts
        if part
    ]
    watermarks = {} if writer.saw is None else {LOG: writer.saw}
    read = rule.read(start, until, frozenset(offsets))
    reads = [ReadRange(LOG, OffsetRange(*read))]
    decision = rule.decide(watermarks, reads, files)
    assert not decision.gaps, f"an unexplained gap: {decision.gaps}"
    return decision


def applied(world: World, decision: Decision) -> World:
    rows = list(world.rows)
    kept = [Cut(file, file.first) for file in decision.add] + list(decision.cut)
    for cut in kept:
        rows += [r for r in map(int, cut.file.path.split()) if r >= cut.start]
    watermark = decision.advance.get(LOG, world.watermark)
    return replace(world, rows=tuple(sorted(rows)), watermark=watermark)


def committed(
    world: World, writer: Writer, records: frozenset[int], rule: Rules, place: int | None
) -> Iterator[World]:
    decision = decided(writer, records, rule)
    conflict = rule.conflicts and world.watermark != writer.saw and bool(decision.advance)
    if conflict and rule.decides_again:
        again = replace(writer, phase="written", saw=None)
        yield put(world, place, again)
        return
    after = applied(world, decision) if decision.advance else world
    yield put(after, place, replace(writer, phase="committed", saw=None))
    # The answer was lost: it reads the watermarks again.
    yield put(after, place, replace(writer, phase="written", saw=None))


def put(world: World, place: int | None, writer: Writer) -> World:
    return replace(world, twin=writer) if place is None else with_writer(world, place, writer)


@pytest.mark.parametrize("records", LOGS[1:3], ids=str)
def test_two_members_write_each_record_once(records: frozenset[int]) -> None:
    assert worlds(records, Rules(), twin=False) > 1000


def no_cut(watermarks: dict[Log, int], read: list[ReadRange], files: list[WrittenFile]) -> Decision:
    found = rules.decide(watermarks, read, files)
    return replace(found, add=(*found.add, *(cut.file for cut in found.cut)), cut=())


def straddling_dropped(
    watermarks: dict[Log, int], read: list[ReadRange], files: list[WrittenFile]
) -> Decision:
    return replace(rules.decide(watermarks, read, files), cut=())


def present_added(
    watermarks: dict[Log, int], read: list[ReadRange], files: list[WrittenFile]
) -> Decision:
    return replace(rules.decide(watermarks, read, files), add=tuple(files), cut=())


def only_with_rows(
    watermarks: dict[Log, int], read: list[ReadRange], files: list[WrittenFile]
) -> Decision:
    found = rules.decide(watermarks, read, files)
    return found if files else replace(found, advance={})


def to_last_row(start: int, until: int, offsets: frozenset[int]) -> tuple[int, int]:
    return start, max(offsets, default=until - 1) + 1


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
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rule, found = FAULTS[fault]
    with pytest.raises(AssertionError, match=found):
        all_worlds(rule)


@pytest.mark.long
@pytest.mark.parametrize("records", LOGS, ids=str)
def test_a_second_driver_on_one_checkpoint_changes_nothing(records: frozenset[int]) -> None:
    assert worlds(records, Rules(), twin=True) > 1000
