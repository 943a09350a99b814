"""`zkgroup lag`: how far a group is behind, once or live, for people and for monitors."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click
from click.core import ParameterSource
from rich.console import Console, Group
from rich.live import Live
from rich.measure import Measurement
from rich.table import Table

from pyspark_zkgroup.cli.cells import add_row, cell, say, table_title
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.found import LiveOrBrokered, found_group
from pyspark_zkgroup.cli.reach import json_option, place_options
from pyspark_zkgroup.cli.seconds import Seconds
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.inspect.age import clock_time
from pyspark_zkgroup.inspect.motion import Pace, paces
from pyspark_zkgroup.inspect.rows import GroupReport, PartitionRow
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import TopicPartition

ABOVE = 3
"""Exit status when the lag is above --fail-above."""
_BAR = 20
# More than the cells of any row would take, were there room.
_ROOM = 10_000


@dataclass(frozen=True)
class TopicLag:
    topic: str
    partitions: int
    unknown: int
    """Partitions without a committed offset or without an end."""
    lag: int
    largest: int
    largest_in: int


@click.command("lag")
@click.argument("group", shell_complete=complete_group)
@place_options
@json_option
@click.option(
    "--watch",
    is_flag=True,
    help="Continue until Ctrl-C or SIGTERM, with rates. Not with --json or --fail-above. "
    "If the output is a pipe or a file, prints a table with the time at each interval.",
)
@click.option(
    "--interval",
    type=Seconds(0.1),
    default=2.0,
    show_default=True,
    help="Seconds, with --watch.",
)
@click.option(
    "--fail-above",
    type=click.IntRange(min=0),
    help="Exit with status 3 if the lag is above this, or unknown for a partition.",
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
    """Show how many records GROUP has yet to commit, by topic.

    Example: zkgroup lag billing --watch --bootstrap-servers kafka1:9092
    """
    if watch and (as_json or fail_above is not None):
        raise click.UsageError("--watch goes with neither --json nor --fail-above")
    source = click.get_current_context().get_parameter_source("interval")
    if not watch and source is not ParameterSource.DEFAULT:
        raise click.UsageError("--interval is for --watch")
    if watch:
        _watch(connect, bootstrap, group, interval)
        return
    with found_group(connect, bootstrap, group) as live:
        seen = live.look()
    if as_json:
        click.echo(json.dumps(as_value(seen), indent=1))
    else:
        _print(console(), seen, by_topic(seen), None)
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


def lag_text(seen: GroupReport) -> str:
    """A sum of nothing known is no lag of 0."""
    if not seen.unknown_lags:
        return f"lag {seen.lag:,}"
    if seen.unknown_lags == len(seen.partitions):
        return "lag unknown"
    return f"lag {seen.lag:,}, unknown for {counted(seen.unknown_lags, 'partition')}"


def table_of(
    out: Console,
    seen: GroupReport,
    rows: tuple[TopicLag, ...],
    rates: Mapping[str, float] | None,
) -> Table:
    """The bar compares topics with the one that lags most; where there is no room for all, it gives
    way first.
    """
    table = _table(seen, rows, rates, has_bar=any(row.lag for row in rows))
    wanted = Measurement.get(out, out.options.update_width(_ROOM), table).maximum
    return table if wanted <= out.width else _table(seen, rows, rates, has_bar=False)


def _table(
    seen: GroupReport,
    rows: tuple[TopicLag, ...],
    rates: Mapping[str, float] | None,
    *,
    has_bar: bool,
) -> Table:
    table = Table(title=table_title(f"group {seen.group}: {lag_text(seen)}"))
    table.add_column("topic", overflow="fold")
    for name in ("partitions", "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    if has_bar:
        table.add_column("")
    table.add_column("largest", justify="right", no_wrap=True)
    if rates is not None:
        table.add_column("committed/s", justify="right", no_wrap=True)
    most = max((row.lag for row in rows), default=0)
    for row in rows:
        bar = "█" * (row.lag * _BAR // most if most else 0)
        cells = [row.topic, str(row.partitions), _lag_of(row), *([bar] if has_bar else [])]
        cells.append(f"{row.largest:,} in {row.largest_in}" if row.largest else "")
        if rates is not None:
            cells.append(f"{rates[row.topic]:,.0f}" if row.topic in rates else "")
        add_row(table, *cells)
    return table


def _lag_of(row: TopicLag) -> str:
    if row.unknown == row.partitions:
        return "-"
    return f"{row.lag:,}" + (f" + {row.unknown} unknown" if row.unknown else "")


def _print(
    out: Console,
    seen: GroupReport,
    rows: tuple[TopicLag, ...],
    rates: Mapping[str, float] | None,
) -> None:
    out.print(table_of(out, seen, rows, rates))
    for note in seen.notes:
        say(note, err=True)


def _watch(connect: str, bootstrap: str, group: str, interval: float) -> None:
    """Ctrl-C and SIGTERM are its regular end, whenever they come."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with found_group(connect, bootstrap, group) as live:
            _show_on(live, interval)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_on(live: LiveOrBrokered, interval: float) -> None:
    """Until a signal comes."""
    out = console()
    if out.is_dumb_terminal or not sys.stdout.isatty():
        for look in _looks(live, interval):
            # Rich flushes what it prints: a reader of the pipe has each table when it is made.
            out.print(clock_time(time.time() * 1000), highlight=False)
            if look.trouble:
                say(look.trouble, err=True)
            else:
                _print(out, look.seen, by_topic(look.seen), look.rates)
    else:
        with Live(console=out, auto_refresh=False) as screen:
            for look in _looks(live, interval):
                table = table_of(out, look.seen, by_topic(look.seen), look.rates)
                notes = filter(None, (look.trouble, *look.seen.notes))
                screen.update(Group(table, *map(cell, notes)), refresh=True)


@dataclass(frozen=True)
class _WatchLook:
    """`rates`: what each topic has committed a second since the look before. `trouble`: why the
    look failed; then the rest is of the one before.
    """

    seen: GroupReport
    rates: Mapping[str, float]
    trouble: str = ""


def _looks(live: LiveOrBrokered, interval: float) -> Iterator[_WatchLook]:
    """Without an end. The first look may fail, which ends the command; a later one is tried
    again.
    """
    seen, at_s = live.look(), time.monotonic()
    yield _WatchLook(seen, {})
    while True:
        time.sleep(interval)
        try:
            now, now_s = live.look(), time.monotonic()
        except ZkgroupError as error:
            yield _WatchLook(seen, {}, f"last look failed: {error}")
            continue
        yield _WatchLook(now, _rates(paces(seen, now, now_s - at_s)))
        seen, at_s = now, now_s


def _rates(each: Mapping[TopicPartition, Pace]) -> dict[str, float]:
    """Of partitions with an offset at both looks: the first commit of one is no progress from 0."""
    found: dict[str, float] = {}
    for partition, pace in each.items():
        found[partition.topic] = found.get(partition.topic, 0.0) + pace.done
    return found
