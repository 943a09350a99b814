"""What `zkgroup doctor --group` finds: the groups themselves, looked at twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.finding import Finding, State
from pyspark_zkgroup.cli.found import LiveOrBrokered, is_brokered
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.cli.reach import checked_group
from pyspark_zkgroup.errors import ServerError, ZkgroupError
from pyspark_zkgroup.inspect.findings import Case, Look, group_findings, needs_second_look
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.listing import counted, similar_names
from pyspark_zkgroup.model import BrokeredGroup, TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.cli.reach import LogEnds
    from pyspark_zkgroup.zk.store import Store


_ELSEWHERE = (
    "If it should, check the name, --bootstrap-servers, and the chroot of --zookeeper: `zkgroup "
    "groups` lists what is there"
)
# Said of a group of which all else may look well.
_ALL_THERE = (
    "Are these all of its queries? One that was refused, or has ended, leaves nothing here: the "
    "last lines of its log say why"
)
_LOOK_AGAIN_S = 0.5


def of_groups(
    store: Store | None, wanted: Sequence[str] | None, ends: LogEnds, watch_s: float
) -> Iterator[Finding]:
    """None for all that are there. Where something waits or moves, the second look tells what
    becomes of it; the time between the looks is the same for all.
    """
    lives, untold = _lives(store, wanted, ends)
    yield from untold
    firsts = {name: _first(live, ends) for name, live in sorted(lives.items())}
    if wanted is None:
        firsts = {name: first for name, first in firsts.items() if first != _nothing_in(name)}
        if not firsts and not untold:
            yield Finding("groups", "note", "no group has members or offsets here", _ELSEWHERE)
    moving = {n for n, at in firsts.items() if isinstance(at, Look) and needs_second_look(at)}
    between = _watch(lives, moving, ends, watch_s) if watch_s and moving else {}
    for name, first in firsts.items():
        last = _seen(lives[name], ends) if watch_s and name in moving else first
        if first == _nothing_in(name):
            there, _ = _lives(store, None, ends)
            found = [_nothing_in(name, similar_names(name, there))]
        elif isinstance(first, Finding):
            found = [first]
        elif isinstance(last, Finding):
            # It was there before: what was seen of it then is reported as well.
            found = [*_of_case(Case(first, first)), last]
        else:
            found = list(_of_case(Case(first, last, between.get(name, ()))))
        for finding in found:
            thing = finding.thing if wanted and len(wanted) == 1 else f"{name}: {finding.thing}"
            yield replace(finding, thing=thing)


def _lives(
    store: Store | None, wanted: Sequence[str] | None, ends: LogEnds
) -> tuple[dict[str, LiveOrBrokered], list[Finding]]:
    """And what could not be found out. Without members, a group of the brokers that ZooKeeper has
    too is the copy of its offsets.
    """
    from pyspark_zkgroup.inspect.group_reader import read_groups

    lives: dict[str, LiveOrBrokered] = {}
    untold: list[Finding] = []
    for name in wanted or ():
        try:
            if store is None or is_brokered(store, checked_group(name), ends):
                lives[name] = BrokeredLive(name, ends, may_be_new=True)
            else:
                lives[name] = _in_zookeeper(store, name, ends)
        except ZkgroupError as error:
            untold.append(_ill(name if len(wanted or ()) > 1 else "group", error))
    if wanted is not None:
        return lives, untold
    names = () if store is None else read_groups(store)
    lives = {name: _in_zookeeper(store, name, ends) for name in names if store is not None}
    try:
        for group in ends.groups(None) if ends.are_known else ():
            if group.group not in lives:
                lives[group.group] = BrokeredLive(group.group, ends, may_be_new=True)
    except ZkgroupError as error:
        untold.append(_ill("groups", error))
    return lives, untold


def _ill(thing: str, error: ZkgroupError) -> Finding:
    return Finding(thing, "ill", error.what, error.remedy)


def _in_zookeeper(store: Store, name: str, ends: LogEnds) -> LiveGroup:
    return LiveGroup(store, name, ends, exclude_internal=True, may_be_new=True)


def _watch(
    lives: Mapping[str, LiveOrBrokered], moving: set[str], ends: LogEnds, watch_s: float
) -> dict[str, tuple[BrokeredGroup, ...]]:
    """How groups of the brokers were meanwhile: they keep no trace of a rebalance that is over."""
    until = time.monotonic() + watch_s
    names = [name for name in moving if isinstance(lives[name], BrokeredLive)]
    found: dict[str, tuple[BrokeredGroup, ...]] = {}
    while names and time.monotonic() + _LOOK_AGAIN_S < until:
        time.sleep(_LOOK_AGAIN_S)
        for group in _between(ends, names):
            if not group.trouble:
                found[group.group] = (*found.get(group.group, ()), group)
    time.sleep(max(0.0, until - time.monotonic()))
    return found


def _between(ends: LogEnds, names: Sequence[str]) -> tuple[BrokeredGroup, ...]:
    """Nothing where brokers are away: the look after it says so, if they stay away."""
    try:
        return ends.groups(names)
    except ZkgroupError:
        return ()


def _seen(live: LiveOrBrokered, ends: LogEnds) -> Look | Finding:
    try:
        return _look(live, ends)
    except ZkgroupError as error:
        return _ill("group", error)


def _first(live: LiveOrBrokered, ends: LogEnds) -> Look | Finding:
    look = _seen(live, ends)
    if isinstance(look, Finding):
        return look
    group = look.seen.brokered
    is_there = look.facts.is_there if group is None else bool(group.state or look.seen.partitions)
    return look if is_there else _nothing_in(live.group)


def _nothing_in(group: str, near: str = "") -> Finding:
    said = f"{group!r} has neither members nor offsets here{near}"
    return Finding("group", "note", said, _ELSEWHERE)


def _of_case(case: Case) -> Iterator[Finding]:
    seen = case.first.seen
    members = counted(len(seen.members), "member")
    offsets = counted(sum(row.committed is not None for row in seen.partitions), "partition")
    where = "" if seen.brokered is None else ", coordinated by the brokers"
    yield Finding(
        "group",
        "well",
        f"{seen.group!r} has {members} and offsets of {offsets}{where}",
        _ALL_THERE,
    )
    for finding in group_findings(case):
        state: State = "ill" if finding.is_ill else "note"
        yield Finding(finding.thing, state, finding.text, finding.remedy)


def _look(live: LiveOrBrokered, ends: LogEnds) -> Look:
    """Look at the group without brokers as well: another finding reports that they are away."""
    if isinstance(live, BrokeredLive):
        brokered, seen = live.both()
        facts = GroupFacts(live.group, topics=brokered.topics)
    else:
        facts, seen = live.both()
    starts: Mapping[TopicPartition, int] = {}
    committed = [row.partition for row in seen.partitions if row.committed is not None]
    try:
        starts = ends.starts(committed) if committed else {}
    except ServerError:
        starts = {}
    return Look(facts, seen, starts, time.time() * 1000)
