"""`zkgroup describe`: members of a group, who owns what since when, and how far they are."""

from __future__ import annotations

import json
import time
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.live import live_group
from pyspark_zkgroup.cli.reach import bootstrap_option, json_option, zookeeper_option
from pyspark_zkgroup.group.report import GroupReport, MemberRow, PartitionRow

_STATES = {
    "owned": "",
    "moving": "[cyan]moving[/]",
    "free": "[yellow]free[/]",
    "stuck": "[red]stuck[/]",
    "unread": "[dim]unread[/]",
}


@click.command("describe")
@click.argument("group", shell_complete=complete_group)
@zookeeper_option
@bootstrap_option
@json_option
@click.option("--include-internal-topics", is_flag=True, help="As patterns of the members do.")
def describe(
    group: str, connect: str, bootstrap: str, as_json: bool, include_internal_topics: bool
) -> None:
    """Show the members of GROUP, and for each partition its owner, offsets and lag.

    A partition is owned by whom it shall be, moving from one member to another, free to be
    claimed, stuck with an owner that is not registered, or unread by any member.
    """
    with live_group(
        connect, bootstrap, group, exclude_internal=not include_internal_topics
    ) as live:
        seen = live.look()
    if as_json:
        click.echo(json.dumps(as_value(seen), indent=1))
    else:
        _show(seen)


def as_value(seen: GroupReport) -> dict[str, Any]:
    return {
        "group": seen.group,
        "protocol": "zookeeper",
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
        "session": f"{member.session:#x}",
        "since_ms": member.since_ms,
        "owns": member.owns,
        "pattern": member.pattern,
        "subscription": dict(member.subscription),
        "strategy": member.strategy,
        "order": member.order,
        "static": member.static,
        "trouble": member.trouble,
    }


def _partition_value(row: PartitionRow) -> dict[str, Any]:
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "state": row.state,
        "owner": row.owner,
        "member": row.member,
        "since_ms": row.since_ms,
        "wanted_by": row.wanted_by,
        "committed": row.committed,
        "end": row.end,
        "lag": row.lag,
        "trouble": row.trouble,
    }


def _show(seen: GroupReport) -> None:
    console = Console()
    now_ms = time.time() * 1000
    members = Table(title=f"group {seen.group}: {len(seen.members)} members")
    for name in ("member", "kind", "since", "reads", "threads", "assigns by"):
        members.add_column(name, overflow="fold")
    members.add_column("owns", justify="right")
    for member in seen.members:
        rule = f"{member.strategy} ({member.order})" if member.strategy else ""
        reads = ", ".join(member.subscription) if member.trouble is None else ""
        members.add_row(
            member.consumer + (" (static)" if member.static else ""),
            member.kind,
            age(now_ms - member.since_ms),
            f"{member.pattern} {reads}" if member.pattern != "static" else reads,
            str(member.threads or ""),
            rule,
            str(member.owns),
        )
    console.print(members)
    console.print(_partitions(seen, now_ms))
    notes = [f"{m.consumer}: {m.trouble}" for m in seen.members if m.trouble]
    notes += [f"{r.partition}: {r.trouble}" for r in seen.partitions if r.trouble]
    for note in (*seen.notes, *notes):
        console.print(note, style="yellow", markup=False, highlight=False)


def _partitions(seen: GroupReport, now_ms: float) -> Table:
    unknown = f", unknown for {seen.unknown_lags}" if seen.unknown_lags else ""
    table = Table(title=f"{len(seen.partitions)} partitions, lag {seen.lag:,}{unknown}")
    table.add_column("topic", overflow="fold")
    table.add_column("partition", justify="right")
    table.add_column("owner", overflow="fold")
    table.add_column("for")
    table.add_column("state")
    table.add_column("wanted by", overflow="fold")
    for name in ("committed", "end", "lag"):
        table.add_column(name, justify="right")
    for row in seen.partitions:
        table.add_row(
            row.partition.topic,
            str(row.partition.partition),
            row.owner or "-",
            "" if row.since_ms is None else age(now_ms - row.since_ms),
            _STATES[row.state],
            "" if row.state == "owned" else row.wanted_by or "-",
            *("-" if n is None else f"{n:,}" for n in (row.committed, row.end, row.lag)),
        )
    return table


def age(ms: float) -> str:
    """In the unit that tells enough: 8 s, 5 min, 3.2 h, 12 d."""
    seconds = max(0.0, ms / 1000)
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.0f} d"
