"""`zkgroup describe`: members of a group, who owns what since when, and how far they are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from pyspark_zkgroup.cli.cells import add_row, cell, table_title
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.found import found_group
from pyspark_zkgroup.cli.lag import lag_text
from pyspark_zkgroup.cli.reach import json_option, place_options
from pyspark_zkgroup.cli.shown_command import shown_command
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.inspect.age import age
from pyspark_zkgroup.inspect.findings import far_behind, has_nothing
from pyspark_zkgroup.inspect.rows import GroupReport, MemberRow, PartitionRow
from pyspark_zkgroup.inspect.short_names import short_names
from pyspark_zkgroup.listing import counted, first_few
from pyspark_zkgroup.model import BrokeredGroup
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.incumbent import Incumbent

_NAMED = 5
_NARROW = 100
_STATES = {
    "owned": ("", ""),
    "moving": ("moving", "cyan"),
    "free": ("free", "yellow"),
    "stuck": ("stuck", "red"),
    "unread": ("no reader", "dim"),
}


@click.command("describe")
@click.argument("group", shell_complete=complete_group)
@place_options
@json_option
@click.option(
    "--include-internal-topics",
    is_flag=True,
    help="Also __consumer_offsets and __transaction_state, for patterns that match them.",
)
def describe(
    group: str, connect: str, bootstrap: str, as_json: bool, include_internal_topics: bool
) -> None:
    """Show members, owners, offsets and lag of GROUP.

    The states of a partition: owned; moving from one member to another; free, until a member
    claims it; stuck with an owner that is no longer a member; no reader ("unread" in JSON), because
    no member subscribes to its topic.

    Example: zkgroup describe billing --bootstrap-servers kafka1:9092
    """
    with found_group(
        connect, bootstrap, group, exclude_internal=not include_internal_topics
    ) as live:
        seen = live.look()
    if as_json:
        click.echo(json.dumps(as_value(seen), indent=1))
    else:
        show(seen)


def as_value(seen: GroupReport) -> dict[str, Any]:
    return {
        "group": seen.group,
        "protocol": seen.protocol,
        "generation": _text(seen.generation),
        "coordinator": None if seen.coordinator is None else _incumbent_value(seen.coordinator),
        "brokered": None if seen.brokered is None else _brokered_value(seen.brokered),
        "lag": seen.lag,
        "partitions_without_lag": seen.unknown_lags,
        "members": [_member_value(member) for member in seen.members],
        "partitions": [_partition_value(row) for row in seen.partitions],
        "notes": list(seen.notes),
    }


def _member_value(member: MemberRow) -> dict[str, Any]:
    return {
        "consumer": member.consumer,
        "kind": member.kind,
        "session": None if member.session is None else f"{member.session:#x}",
        "since_ms": member.since_ms,
        "owns": member.owns,
        "pattern": member.pattern,
        "subscription": dict(member.subscription),
        "strategy": member.strategy,
        "order": member.order,
        "static": member.static,
        "trouble": member.trouble,
        "protocol": member.protocol,
        "generation": _text(member.generation),
        "unanswered": member.unanswered,
        "waiting": None
        if member.waiting is None
        else [
            {"topic": w.partition.topic, "partition": w.partition.partition, "owner": w.owner}
            for w in member.waiting
        ],
        "client": member.client,
        "host": member.host,
    }


def _brokered_value(group: BrokeredGroup) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "state": group.state,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "coordinator": group.coordinator,
    }


def _incumbent_value(seen: Incumbent) -> dict[str, Any]:
    return {
        "id": seen.name,
        "address": seen.address,
        "epoch": seen.epoch,
        "since_ms": seen.since_ms,
    }


def _text(generation: Generation | None) -> str | None:
    return None if generation is None else str(generation)


def _partition_value(row: PartitionRow) -> dict[str, Any]:
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "state": row.state,
        "owner": row.owner,
        "member": row.member,
        "since_ms": row.since_ms,
        "wanted_by": row.wanted_by,
        "undecided": row.undecided,
        "committed": row.committed,
        "committed_ms": row.committed_ms,
        "end": row.end,
        "lag": row.lag,
        "trouble": row.trouble,
    }


def show(seen: GroupReport) -> None:
    out = console()
    now_ms = time.time() * 1000
    out.print(_members(seen, now_ms, is_narrow=out.width < _NARROW))
    if out.width < _NARROW:
        out.print()
    out.print(_partitions(seen, now_ms, is_narrow=out.width < _NARROW))
    notes = [f"{m.consumer}: {m.trouble}" for m in seen.members if m.trouble]
    notes += [f"{r.partition}: {r.trouble}" for r in seen.partitions if r.trouble]
    waits = [*_waits(seen), *_unanswered(seen)]
    for text in waits:
        out.print(cell(text))
    for note in (*seen.notes, *notes):
        out.print(cell(note), style="yellow")
    if notes or seen.notes or waits or _is_odd(seen):
        hint = f"{shown_command('doctor', seen.group)} says what to do"
        out.print(cell(hint), style="dim")


def _table(title: str, *, is_narrow: bool) -> Table:
    """A narrow one has no lines between columns: they would take the space of the cells."""
    if is_narrow:
        return Table(title=table_title(title), box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    return Table(title=table_title(title))


def _members(seen: GroupReport, now_ms: float, *, is_narrow: bool) -> Table:
    members = _table(_title(seen, now_ms), is_narrow=is_narrow)
    short = short_names(seen.members) if is_narrow else {}
    if short:
        members.add_column("id", no_wrap=True)
    members.add_column("member", overflow="fold")
    if seen.brokered is None:
        members.add_column("kind")
        members.add_column("since", no_wrap=True)
    else:
        members.add_column("client", overflow="fold")
    members.add_column("reads", overflow="fold")
    if seen.brokered is None:
        members.add_column("threads", min_width=len("threads"))
        members.add_column("assigns by", min_width=len("assigns"))
    for name in ("owns", "waits for"):
        members.add_column(name, justify="right", min_width=len(name.split()[0]))
    for member in seen.members:
        reads = ", ".join(member.subscription) if member.trouble is None else ""
        reads = f"{member.pattern} {reads}".strip() if member.pattern != "static" else reads
        who = [short.get(member.consumer, "")] if short else []
        who.append(member.consumer + (" (static)" if member.static else ""))
        counts = (str(member.owns), "?" if member.waiting is None else str(len(member.waiting)))
        if seen.brokered is not None:
            client = f"{member.kind} {member.client} at {member.host.lstrip('/')}"
            add_row(members, *who, client, reads, *counts)
            continue
        rule = f"{member.strategy} ({member.order})" if member.order else member.strategy or ""
        since = "" if member.since_ms is None else age(now_ms - member.since_ms)
        threads = str(member.threads or "")
        add_row(members, *who, _kind(seen, member), since, reads, threads, rule, *counts)
    return members


def _is_odd(seen: GroupReport) -> bool:
    """Whether there is something that the lines around the tables do not show."""
    return (
        any(map(_is_open, seen.partitions))
        or any(map(has_nothing, seen.members))
        or bool(far_behind(seen.partitions))
    )


def _is_open(row: PartitionRow) -> bool:
    """A partition without a reader and without lag may belong to a topic of former times."""
    return bool(row.lag) if row.state == "unread" else row.state != "owned"


def _title(seen: GroupReport, now_ms: float) -> str:
    parts = [f"group {seen.group}: {counted(len(seen.members), 'member')}"]
    if seen.brokered is not None:
        return ", ".join([*parts, *_brokered_title(seen.brokered)]) + _where(seen.brokered)
    if seen.protocol is not None:
        text = "both protocols" if seen.protocol == "both" else f"protocol {seen.protocol}"
        parts.append(text)
    if seen.generation is not None:
        parts.append(f"generation {seen.generation}")
    title = ", ".join(parts)
    at = seen.coordinator
    if at is not None:
        where = f" at {at.address}" if at.address else ""
        title += f"\ncoordinator {at.name or '?'}{where}, for {age(now_ms - at.since_ms)}"
        title += f", epoch {at.epoch}"
    return title


def _brokered_title(group: BrokeredGroup) -> list[str]:
    parts = [f"{group.kind} protocol", group.state or "no such group"]
    if group.assignor:
        parts.append(f"assignor {group.assignor}")
    if group.epoch is not None:
        parts.append(f"epoch {group.epoch}")
    return parts


def _where(group: BrokeredGroup) -> str:
    return f"\ncoordinator {group.coordinator}" if group.coordinator else ""


def _kind(seen: GroupReport, member: MemberRow) -> str:
    """With the protocol where not all members have the same."""
    if member.protocol is None or member.protocol == seen.protocol:
        return member.kind
    return f"{member.kind} {member.protocol}"


def _waits(seen: GroupReport) -> Iterator[str]:
    registered = {member.consumer for member in seen.members}
    for member in seen.members:
        of_owners: dict[str, list[str]] = {}
        for waiting in member.waiting or ():
            owner = waiting.member or waiting.owner
            of_owners.setdefault(owner, []).append(str(waiting.partition))
        for owner, partitions in of_owners.items():
            who = owner if owner in registered else f"{owner}, which is not registered,"
            yield f"{member.consumer} waits for {who} to release {first_few(partitions, _NAMED)}"


def _unanswered(seen: GroupReport) -> Iterator[str]:
    for member in seen.members:
        if member.unanswered:
            yield (
                f"{member.consumer} has yet to follow {member.unanswered} of its coordinator's "
                f"commands, the newest of generation {member.generation}"
            )


def _partitions(seen: GroupReport, now_ms: float, *, is_narrow: bool) -> Table:
    """What no row has to say is no column. Names fold where room is short; states and numbers that
    are cut would say something else.
    """
    number = counted(len(seen.partitions), "partition")
    table = _table(f"{number}, {lag_text(seen)}", is_narrow=is_narrow)
    settled = all(row.state == "owned" for row in seen.partitions)
    table.add_column("topic", overflow="fold")
    table.add_column("partition", justify="right", no_wrap=True)
    table.add_column("owner", overflow="fold")
    has_times = seen.brokered is None
    if has_times:
        table.add_column("for", no_wrap=True)
    if not settled:
        table.add_column("state", no_wrap=True)
        table.add_column("wanted by", overflow="fold")
    for name in ("committed", *(("ago",) if has_times else ()), "end", "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    short = short_names(seen.members) if is_narrow else {}
    for row in seen.partitions:
        wanted = "" if row.state == "owned" else row.wanted_by or row.undecided or "-"
        add_row(
            table,
            row.partition.topic,
            str(row.partition.partition),
            _shortened(row.owner or "-", short),
            *(_age(row.since_ms, now_ms) if has_times else ()),
            *(() if settled else (Text(*_STATES[row.state]), _shortened(wanted, short))),
            _number(row.committed),
            *(_age(row.committed_ms, now_ms) if has_times else ()),
            _number(row.end),
            _number(row.lag),
        )
    return table


def _age(at_ms: int | None, now_ms: float) -> tuple[str]:
    return ("" if at_ms is None else age(now_ms - at_ms),)


def _shortened(thread: str, tails: Mapping[str, str]) -> str:
    if thread in tails:
        return tails[thread]
    consumer = consumer_of(thread)
    return f"{tails[consumer]}-{thread.rpartition('-')[2]}" if consumer in tails else thread


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
