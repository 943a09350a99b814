"""What `zkgroup doctor --group` finds: the groups themselves, looked at twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.cli.counted import counted
from pyspark_zkgroup.cli.finding import Finding, State
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.cli.reach import checked_group
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.inspect.findings import Case, Look, group_findings, needs_second_look
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.cli.reach import LogEnds
    from pyspark_zkgroup.zk.store import Store


_CHROOT = "If it should, check the chroot of --zookeeper: `zkgroup groups` lists what is there"
# Said of a group of which all else may look well.
_ALL_THERE = (
    "Are these all of its queries? One that was refused, or has ended, leaves nothing here: the "
    "last lines of its log say why"
)


def of_groups(
    store: Store, wanted: Sequence[str] | None, ends: LogEnds, watch_s: float
) -> Iterator[Finding]:
    """None for all that are there. Where something waits or moves, the second look tells what
    becomes of it; the time between the looks is the same for all.
    """
    from pyspark_zkgroup.inspect.group_reader import read_groups

    names = read_groups(store) if wanted is None else map(checked_group, wanted)
    lives = {
        name: LiveGroup(store, name, ends, exclude_internal=True, may_be_new=True)
        for name in sorted(names)
    }
    firsts = {name: _first(live, ends) for name, live in lives.items()}
    if wanted is None:
        firsts = {name: first for name, first in firsts.items() if first != _nothing_in(name)}
        if not firsts:
            yield Finding("groups", "note", "no group has members or offsets here", _CHROOT)
    moving = {n for n, at in firsts.items() if isinstance(at, Look) and needs_second_look(at)}
    if watch_s and moving:
        time.sleep(watch_s)
    for name, first in firsts.items():
        if isinstance(first, Finding):
            found = [first]
        else:
            last = _look(lives[name], ends) if watch_s and name in moving else first
            found = list(_of_case(Case(first, last)))
        for finding in found:
            thing = finding.thing if wanted and len(lives) == 1 else f"{name}: {finding.thing}"
            yield replace(finding, thing=thing)


def _first(live: LiveGroup, ends: LogEnds) -> Look | Finding:
    try:
        look = _look(live, ends)
    except ServerError as error:
        return Finding("group", "ill", error.what, error.remedy)
    return look if look.facts.is_there else _nothing_in(live.group)


def _nothing_in(group: str) -> Finding:
    return Finding("group", "note", f"{group!r} has neither members nor offsets here", _CHROOT)


def _of_case(case: Case) -> Iterator[Finding]:
    facts = case.first.facts
    members = counted(len(facts.ids), "member")
    offsets = counted(len(facts.offsets), "partition")
    yield Finding(
        "group",
        "well",
        f"{case.first.seen.group!r} has {members} and offsets of {offsets}",
        _ALL_THERE,
    )
    for finding in group_findings(case):
        state: State = "ill" if finding.is_ill else "note"
        yield Finding(finding.thing, state, finding.text, finding.remedy)


def _look(live: LiveGroup, ends: LogEnds) -> Look:
    """Brokers that are away are found elsewhere: what the nodes tell is told all the same."""
    facts, seen = live.both()
    starts: Mapping[TopicPartition, int] = {}
    committed = [row.partition for row in seen.partitions if row.committed is not None]
    try:
        starts = ends.starts(committed) if committed else {}
    except ServerError:
        starts = {}
    return Look(facts, seen, starts, time.time() * 1000)
