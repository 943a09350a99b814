"""What has changed in a group between two looks at it: rates, and events in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.inspect.rows import GroupReport, MemberRow
from pyspark_zkgroup.inspect.short_names import short_names
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import TopicPartition

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """Records a second: those that came into the log, and those that the group committed."""

    came: float
    done: float


def paces(before: GroupReport, now: GroupReport, seconds: float) -> Mapping[TopicPartition, Pace]:
    """Of partitions whose end and offset were known both times."""
    if seconds <= 0:
        return {}
    old = {row.partition: row for row in before.partitions}
    found = {}
    for row in now.partitions:
        was = old.get(row.partition)
        if was is None or None in (row.end, row.committed, was.end, was.committed):
            continue
        came = (row.end or 0) - (was.end or 0)
        done = (row.committed or 0) - (was.committed or 0)
        found[row.partition] = Pace(came / seconds, done / seconds)
    return found


def events(before: GroupReport, now: GroupReport, shown: GroupReport) -> tuple[str, ...]:
    """`shown` is the last look at which owners were visible: a classic group of the brokers hides
    them while it rebalances.
    """
    names = {
        **short_names(before.members),
        **short_names(shown.members),
        **short_names(now.members),
    }
    found = [*_members(before, now, names), *_phases(before, now)]
    if is_visible(now):
        found += _moves(shown, now, names)
    found += _rewinds(before, now)
    found += [note for note in now.notes if note not in before.notes and note not in now.faults]
    return tuple(found)


def is_visible(seen: GroupReport) -> bool:
    return seen.brokered is None or seen.brokered.shows_assignment or not seen.members


def _members(before: GroupReport, now: GroupReport, names: Mapping[str, str]) -> Iterator[str]:
    old = {member.consumer: member for member in before.members}
    new = {member.consumer: member for member in now.members}
    for consumer in sorted(old.keys() - new.keys()):
        yield f"left: {_who(old[consumer], names)}"
    for consumer in sorted(new.keys() - old.keys()):
        yield f"joined: {_who(new[consumer], names)}"


def _who(member: MemberRow, names: Mapping[str, str]) -> str:
    client = f" ({member.client} at {member.host.lstrip('/')})" if member.client else ""
    return f"{names.get(member.consumer, member.consumer)}{client}"


def _phases(before: GroupReport, now: GroupReport) -> Iterator[str]:
    was, group = before.brokered, now.brokered
    if was is not None and group is not None and was.state != group.state:
        yield f"state: {was.state or 'absent'} to {group.state or 'absent'}"
    if was is not None and group is not None and was.coordinator != group.coordinator:
        yield f"coordinator: {was.coordinator} to {group.coordinator}"
    if now.generation is not None and before.generation != now.generation:
        yield f"generation {now.generation}"
    old, new = before.coordinator, now.coordinator
    if (old and (old.name, old.epoch)) != (new and (new.name, new.epoch)):
        yield f"coordinator: {old.name if old else 'none'} to {new.name if new else 'none'}"


def _moves(shown: GroupReport, now: GroupReport, names: Mapping[str, str]) -> Iterator[str]:
    old = {row.partition: row.member for row in shown.partitions}
    moved: dict[tuple[str | None, str | None], list[TopicPartition]] = {}
    for row in now.partitions:
        if row.partition in old and old[row.partition] != row.member:
            moved.setdefault((old[row.partition], row.member), []).append(row.partition)
    for (giver, taker), partitions in moved.items():
        what = _listed(partitions)
        giver, taker = (name and names.get(name, name) for name in (giver, taker))
        if giver is None:
            yield f"claimed by {taker}: {what}"
        elif taker is None:
            yield f"released by {giver}: {what}"
        else:
            yield f"moved from {giver} to {taker}: {what}"


def _rewinds(before: GroupReport, now: GroupReport) -> Iterator[str]:
    old = {row.partition: row.committed for row in before.partitions}
    for row in now.partitions:
        was = old.get(row.partition)
        if was is not None and row.committed is not None and row.committed < was:
            yield f"offset set back: {row.partition} from {was:,} to {row.committed:,}"


def _listed(partitions: list[TopicPartition]) -> str:
    return first_few(partitions, _NAMED)
