"""All interleavings of writers that append one partition to one table, with a crash at each step.

Two members claim the partition from each other at any time, also in the middle of a batch, so each
of them is sometimes an early, sometimes a late zombie. Each plans ranges of any length from the
group's offset. A member that crashes replays its logged plan, or has lost its checkpoint and plans
from the start. A second driver may run the same logged plan at the same time. A commit may take
effect and its answer be lost. In each state that can be reached the table holds exactly the records
below its watermark, each once, and the group's offset is not beyond it. Where a member compares
rows, the table holds all records below the group's offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pyspark_zkgroup.delta.direct import bounds, rules
from pyspark_zkgroup.delta.direct.bounds import Look, Marks
from pyspark_zkgroup.delta.direct.rules import Cut, Decision, Log, ReadRange, WrittenFile
from pyspark_zkgroup.model import OffsetRange, TopicPartition

LOG = Log("t", 0, "an id")
P = LOG.of
END = 4
# Transaction markers: the end of a range without a record, and a whole range without one.
LOGS = (frozenset({0, 1, 2, 3}), frozenset({0, 1, 3}), frozenset({0, 3}), frozenset({1}))

Phase = Literal["down", "idle", "planned", "written", "looked", "committed", "finished"]
Bounds = dict[TopicPartition, int]
Decide = Callable[[dict[Log, int], list[ReadRange], list[WrittenFile], Bounds], Decision]
Looks = Callable[[Marks, dict[TopicPartition, OffsetRange], set[Log]], Look]


@dataclass(frozen=True)
class Writer:
    """`plan` is in the checkpoint and outlives a crash, and so does `is_finished`. `is_fenced`: the
    partition has been claimed by another member since the plan. `compares`: it appends through
    Spark and compares rows; else tasks write files.
    """

    phase: Phase = "idle"
    plan: tuple[int, int] | None = None
    is_finished: bool = False
    is_fenced: bool = False
    saw: Table | None = None
    compares: bool = False

    def again(self) -> Writer:
        return Writer(compares=self.compares)


@dataclass(frozen=True)
class Table:
    rows: tuple[int, ...] = ()
    watermark: int | None = None
    bound: int = 0

    @property
    def marks(self) -> Marks:
        return Marks(self.watermarks, {P: self.bound})

    @property
    def watermarks(self) -> dict[Log, int]:
        return {} if self.watermark is None else {LOG: self.watermark}


@dataclass(frozen=True)
class World:
    """`twin` is a second driver on the checkpoint of the first writer. `outsider` is an append_once
    of some records that is still to come.
    """

    writers: tuple[Writer, Writer]
    twin: Writer | None = None
    table: Table = Table()
    group: int = 0
    outsider: tuple[int, int] | None = None


@dataclass(frozen=True)
class Rules:
    """What decides; a planted fault replaces a part."""

    decide: Decide = rules.decide
    look: Looks = bounds.look
    read: Callable[[int, int, frozenset[int]], tuple[int, int]] = lambda start, until, _: (
        start,
        until,
    )
    conflicts: bool = True
    decides_again: bool = True
    reports_left_out: bool = False


def worlds(
    records: frozenset[int], rule: Rules, twin: bool, first: World = World((Writer(), Writer()))
) -> int:
    """Visit every state that can be reached; return how many there are."""
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


def mixed(records: frozenset[int]) -> Iterator[World]:
    """Where one or both writers compare rows, in a new table and in others."""
    writers, compares = Writer(), Writer(compares=True)
    hole = tuple(r for r in records if 0 < r < 3)  # it was taken over
    yield World((compares, compares))
    yield World((writers, compares), outsider=(1, 3))
    yield World((compares, compares), table=Table(hole, None, 3 if hole else 0))
    yield World((writers, compares), table=Table(hole, None, 3 if hole else 0))


def check(world: World, records: frozenset[int]) -> None:
    table = world.table
    assert len(set(table.rows)) == len(table.rows), f"twice: {world}"
    highest = max(table.watermark or 0, table.bound)
    assert all(row < highest for row in table.rows), f"beyond the bound: {world}"
    assert world.group <= highest, f"the group's offset is beyond the table: {world}"
    # What files are dropped by must be there.
    complete = max(table.watermark or 0, world.group)
    missing = {r for r in records if r < complete} - set(table.rows)
    assert not missing, f"missing: {world}"


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
    if world.outsider is not None:
        yield replace(world, outsider=None, table=appended_once(world, records, rule))
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
        planned = replace(world.writers[place], phase="planned", plan=(world.group, until))
        yield with_writer(fenced, place, replace(planned, is_finished=False, is_fenced=False))


def moved(
    world: World, writer: Writer, records: frozenset[int], rule: Rules
) -> Iterator[tuple[World, Writer]]:
    phase = writer.phase
    if phase == "planned":
        yield world, replace(writer, phase="written")
    elif phase == "written":
        yield world, replace(writer, phase="looked", saw=world.table)
    elif phase == "committed":
        yield world, replace(writer, phase="finished", is_finished=True)
    elif phase == "finished":
        yield group_committed(world, writer), writer.again()
    elif phase == "down":
        yield world, writer.again()  # the checkpoint is lost
        if writer.plan is None:
            return
        if writer.is_finished:
            yield world, replace(writer, phase="finished")
        elif not writer.is_fenced:
            yield world, replace(writer, phase="planned")
        else:
            yield left_out(world, writer, rule), writer.again()
    if phase not in ("down", "idle"):
        yield world, replace(writer, phase="down", saw=None)


def group_committed(world: World, writer: Writer) -> World:
    assert writer.plan is not None
    return world if writer.is_fenced else replace(world, group=writer.plan[1])


def left_out(world: World, writer: Writer, rule: Rules) -> World:
    """A replay whose range another member has taken over: no task reads it. A batch that was
    transformed does not tell that, so its append looks as if there were no rows.
    """
    writer = replace(writer, saw=world.table)
    if writer.compares:
        return replace(world, table=compared(world.table, writer, frozenset(), rule))
    if not rule.reports_left_out:
        return world
    return replace(world, table=applied(world.table, decided(writer, frozenset(), rule)))


def decided(writer: Writer, records: frozenset[int], rule: Rules) -> Decision:
    assert writer.plan is not None
    assert writer.saw is not None
    start, until = writer.plan
    offsets = sorted(r for r in records if start <= r < until)
    # Two files where there are enough records, so that one is dropped and one is cut.
    parts = [offsets[:1], offsets[1:]] if len(offsets) > 2 else [offsets]
    files = [
        WrittenFile(" ".join(map(str, part)), LOG, part[0], part[-1], len(part))
        for part in parts
        if part
    ]
    read = rule.read(start, until, frozenset(offsets))
    reads = [ReadRange(LOG, OffsetRange(*read))]
    decision = rule.decide(writer.saw.watermarks, reads, files, {P: writer.saw.bound})
    assert not decision.gaps, f"an unexplained gap: {decision.gaps}"
    return decision


def applied(table: Table, decision: Decision) -> Table:
    rows = list(table.rows)
    kept = [Cut(file, file.first) for file in decision.add] + list(decision.cut)
    for cut in kept:
        has = {r for r in table.rows if r in span(cut.looked_at)}
        rows += [r for r in map(int, cut.file.path.split()) if r >= cut.start and r not in has]
    watermark = decision.advance.get(LOG, table.watermark)
    bound = 0 if P in decision.passed else table.bound
    return Table(tuple(sorted(rows)), watermark, bound)


def span(of: OffsetRange) -> range:
    return range(of.start, of.until)


def looked(writer: Writer, table: Table, rule: Rules) -> Look:
    assert writer.plan is not None
    return rule.look(table.marks, {P: OffsetRange(*writer.plan)}, {LOG})


def compared(table: Table, writer: Writer, records: frozenset[int], rule: Rules) -> Table:
    """The rows that the table lacked when it was looked at, and the bound."""
    assert writer.plan is not None
    assert writer.saw is not None
    found = looked(writer, writer.saw, rule)
    within = span(found.compared.get(P, OffsetRange(0, 0)))
    has = {r for r in writer.saw.rows if r in within}
    fresh = [r for r in records if r in range(*writer.plan) and r not in has]
    return replace(
        table,
        rows=tuple(sorted([*table.rows, *fresh])),
        bound=found.bounds.get(P, table.bound),
    )


def appended_once(world: World, records: frozenset[int], rule: Rules) -> Table:
    """It has no plan, and nothing else is committed meanwhile."""
    assert world.outsider is not None
    found = rule.look(world.table.marks, {P: OffsetRange(*world.outsider)}, set())
    fresh = [r for r in records if r in range(*world.outsider) and r not in world.table.rows]
    rows = tuple(sorted([*world.table.rows, *fresh]))
    return replace(world.table, rows=rows, bound=found.bounds.get(P, world.table.bound))


def committed(
    world: World, writer: Writer, records: frozenset[int], rule: Rules, place: int | None
) -> Iterator[World]:
    assert writer.saw is not None
    again = replace(writer, phase="written", saw=None)
    now, saw = world.table, writer.saw
    if writer.compares:
        found = looked(writer, saw, rule)
        lost = now != saw if found.compared else looked(writer, now, rule) != found
        after = compared(now, writer, records, rule)
    else:
        decision = decided(writer, records, rule)
        alone = any(len(one.looked_at) for one in decision.cut)
        marks_moved = (now.watermark, now.bound) != (saw.watermark, saw.bound)
        lost = bool(decision.advance) and (marks_moved or (alone and now != saw))
        after = applied(now, decision) if decision.advance else now
    if lost and rule.conflicts and rule.decides_again:
        yield put(world, place, again)
        return
    after_commit = replace(world, table=after)
    yield put(after_commit, place, replace(writer, phase="committed", saw=None))
    # The answer was lost: it looks again.
    yield put(after_commit, place, again)


def put(world: World, place: int | None, writer: Writer) -> World:
    return replace(world, twin=writer) if place is None else with_writer(world, place, writer)
