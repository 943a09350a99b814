"""`zkgroup lag`: how far a group is behind, once or live, for people and for monitors."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.live import LiveGroup, live_group
from pyspark_zkgroup.cli.reach import bootstrap_option, json_option, zookeeper_option
from pyspark_zkgroup.group.report import GroupReport, PartitionRow

ABOVE = 3
"""Exit status when the lag is above --fail-above."""
_BAR = 20


@dataclass(frozen=True)
class TopicLag:
    topic: str
    partitions: int
    unknown: int
    """Partitions without a committed offset or without an end."""
    committed: int
    lag: int
    largest: int
    largest_in: int


@click.command("lag")
@click.argument("group", shell_complete=complete_group)
@zookeeper_option
@bootstrap_option
@json_option
@click.option(
    "--watch",
    is_flag=True,
    help="Go on until Ctrl-C or SIGTERM, with rates. Goes with neither --json nor --fail-above.",
)
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds."
)
@click.option(
    "--fail-above",
    type=click.IntRange(min=0),
    help="End with status 3 if the lag is above this, or unknown for a partition.",
)
def lag(
    group: str,
    connect: str,
    bootstrap: str,
    as_json: bool,
    watch: bool,
    interval: float,
    fail_above: int | None,
) -> None:
    """Show how many records GROUP has yet to commit, by topic."""
    if watch and (as_json or fail_above is not None):
        raise click.UsageError("--watch goes with neither --json nor --fail-above")
    if watch:
        _watch(connect, bootstrap, group, interval)
        return
    with live_group(connect, bootstrap, group) as live:
        seen = live.look()
    if as_json:
        click.echo(json.dumps(as_value(seen), indent=1))
    else:
        Console().print(table_of(seen, by_topic(seen), {}))
        for note in seen.notes:
            click.echo(note, err=True)
    if fail_above is not None and (seen.lag > fail_above or seen.unknown_lags):
        raise SystemExit(ABOVE)


def by_topic(seen: GroupReport) -> tuple[TopicLag, ...]:
    of_topics: dict[str, list[PartitionRow]] = {}
    for row in seen.partitions:
        of_topics.setdefault(row.partition.topic, []).append(row)
    found = []
    for topic, rows in of_topics.items():
        largest = max(rows, key=lambda row: row.lag or 0)
        found.append(
            TopicLag(
                topic,
                len(rows),
                sum(row.lag is None for row in rows),
                sum(row.committed or 0 for row in rows),
                sum(row.lag or 0 for row in rows),
                largest.lag or 0,
                largest.partition.partition,
            )
        )
    return tuple(found)


def as_value(seen: GroupReport) -> dict[str, object]:
    return {
        "group": seen.group,
        "lag": seen.lag,
        "partitions_without_lag": seen.unknown_lags,
        "topics": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "committed": row.committed,
                "end": row.end,
                "lag": row.lag,
            }
            for row in seen.partitions
        ],
        "notes": list(seen.notes),
    }


def table_of(seen: GroupReport, rows: tuple[TopicLag, ...], rates: Mapping[str, float]) -> Table:
    """The bar compares topics with the one that lags most."""
    unknown = f", unknown for {seen.unknown_lags} partitions" if seen.unknown_lags else ""
    table = Table(title=f"group {seen.group}: lag {seen.lag:,}{unknown}")
    table.add_column("topic", overflow="fold")
    table.add_column("partitions", justify="right")
    table.add_column("lag", justify="right")
    table.add_column("")
    table.add_column("largest", justify="right")
    table.add_column("committed/s", justify="right")
    most = max((row.lag for row in rows), default=0)
    for row in rows:
        rate = rates.get(row.topic)
        table.add_row(
            row.topic,
            str(row.partitions),
            f"{row.lag:,}",
            "█" * (row.lag * _BAR // most if most else 0),
            f"{row.largest:,} in {row.largest_in}" if row.largest else "",
            "" if rate is None else f"{rate:,.0f}",
        )
    return table


def _watch(connect: str, bootstrap: str, group: str, interval: float) -> None:
    """Ctrl-C and SIGTERM are its regular end, whenever they come."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with live_group(connect, bootstrap, group) as live:
            _show_on(live, interval)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_on(live: LiveGroup, interval: float) -> NoReturn:
    before: dict[str, int] = {}
    before_at = 0.0
    with Live(console=Console(), auto_refresh=False) as screen:
        while True:
            seen, now = live.look(), time.monotonic()
            rows = by_topic(seen)
            rates = {
                row.topic: (row.committed - before[row.topic]) / (now - before_at)
                for row in rows
                if row.topic in before
            }
            screen.update(table_of(seen, rows, rates), refresh=True)
            before, before_at = {row.topic: row.committed for row in rows}, now
            time.sleep(interval)
