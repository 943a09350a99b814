"""`zkgroup top`: a group as it changes: shares, lag and rates, what moves, and what happened."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import click
from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pyspark_zkgroup.cli.cells import add_row, cell
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.found import LiveOrBrokered, found_group
from pyspark_zkgroup.cli.lag import lag_text
from pyspark_zkgroup.cli.reach import place_options
from pyspark_zkgroup.cli.seconds import Seconds
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.inspect.age import age, clock_time
from pyspark_zkgroup.inspect.motion import Pace, events, is_visible, paces
from pyspark_zkgroup.inspect.rows import GroupReport, MemberRow, PartitionRow
from pyspark_zkgroup.inspect.short_names import short_names
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import TopicPartition

_BAR = 12
_WIDE, _WIDEST = 100, 130
_EVENTS = 6
_ROWS_MIN = 5
_KEPT = 100
_BATCH_S = 30.0
_STATE_STYLES = {"moving": "cyan", "free": "yellow", "stuck": "red", "unread": "dim"}


@dataclass(frozen=True)
class Moment:
    """One look at a group, with what it shows against the one before."""

    seen: GroupReport
    at_ms: float
    paces: Mapping[TopicPartition, Pace] = field(default_factory=dict)
    events: Sequence[tuple[float, str]] = ()
    trouble: str = ""


@click.command("top")
@click.argument("group", shell_complete=complete_group)
@place_options
@click.option(
    "--interval",
    type=Seconds(0.2),
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--looks", type=click.IntRange(min=1), help="Exit after this many looks.")
def top(group: str, connect: str, bootstrap: str, interval: float, looks: int | None) -> None:
    """Watch GROUP live: shares, lag, rates and events.

    Ctrl-C ends it. If the output is a pipe or a file, it prints one screen per look.

    Example: zkgroup top billing --bootstrap-servers kafka1:9092
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with found_group(connect, bootstrap, group) as live:
            _show(live, interval, looks)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(live: LiveOrBrokered, interval: float, looks: int | None) -> None:
    out = console()
    moments = _moments(live, interval, looks)
    if out.is_dumb_terminal or not sys.stdout.isatty():
        for moment in moments:
            out.print(screen(moment, out.width, None))
    else:
        with Live(console=out, screen=True, auto_refresh=False) as shown:
            for moment in moments:
                shown.update(screen(moment, out.width, out.height), refresh=True)


def _moments(live: LiveOrBrokered, interval: float, looks: int | None) -> Iterator[Moment]:
    """Yield what was seen last; a look that fails becomes a line on the screen."""
    kept: deque[tuple[float, str]] = deque(maxlen=_KEPT)
    seen = shown = live.look()
    at_s = time.monotonic()
    yield Moment(seen, time.time() * 1000)
    number = 1
    while looks is None or number < looks:
        time.sleep(interval)
        number += 1
        now_ms = time.time() * 1000
        try:
            now = live.look()
        except ZkgroupError as error:  # also if the group is gone: it may come back
            yield Moment(seen, now_ms, {}, tuple(kept), error.what)
            continue
        now_s = time.monotonic()
        kept.extend((now_ms, text) for text in events(seen, now, shown))
        yield Moment(now, now_ms, paces(seen, now, now_s - at_s), tuple(kept))
        seen, at_s = now, now_s
        shown = now if is_visible(now) else shown


def screen(moment: Moment, width: int, height: int | None) -> RenderableType:
    """As many partitions as there is room for: those that move first, then the largest lags."""
    seen = moment.seen
    names = short_names(seen.members)
    happened = list(moment.events)[-_EVENTS:]
    parts: list[RenderableType] = [*_head(moment, width)]
    parts += [_members(seen, moment.paces, names, width), Text("")]
    taken = len(parts) + len(seen.members) + len(happened) + (7 if happened else 6)
    room = len(seen.partitions) if height is None else max(_ROWS_MIN, height - taken)
    parts.append(_partitions(moment, names, room, is_wide=width >= _WIDE))
    if len(seen.partitions) > room:
        parts.append(Text(f"and {len(seen.partitions) - room} more partitions", style="dim"))
    if happened:
        parts += [Text(""), Text("events", style="bold")]
    for at_ms, text in happened:
        line = cell(f"{clock_time(at_ms)[11:19]}  {text}")
        line.truncate(width, overflow="ellipsis")
        parts.append(line)
    return Group(*parts)


def _head(moment: Moment, width: int) -> Iterator[RenderableType]:
    seen, group = moment.seen, moment.seen.brokered
    parts = [f"group {seen.group}"]
    if group is not None:
        parts += [f"{group.kind} protocol", group.state, group.assignor]
    elif seen.protocol is not None:
        parts.append(f"protocol {seen.protocol}")
    if seen.generation is not None:
        parts.append(f"generation {seen.generation}")
    line = cell(", ".join(filter(None, parts)))
    line.stylize("bold")
    line.append(f"  {clock_time(moment.at_ms)[11:]}", style="dim")
    yield line
    came = sum(pace.came for pace in moment.paces.values())
    done = sum(pace.done for pace in moment.paces.values())
    text = Text(lag_text(seen))
    if moment.paces:
        text.append(f", {came:,.0f}/s in, {done:,.0f}/s committed")
        trend = _trend(seen, came, done)
        if trend is not None:
            text.append(": ").append(trend[0], style=trend[1])
    counts = f"{counted(len(seen.members), 'member')}, "
    counts += f"{counted(len(seen.partitions), 'partition')}, "
    yield Text(counts) + text if len(counts) + len(text) <= width else text
    if moment.trouble:
        yield Text.assemble(("last look failed: ", "red"), cell(moment.trouble))
    for note in seen.notes:
        yield Text.assemble((cell(note).plain, "yellow"))


def _trend(seen: GroupReport, came: float, done: float) -> tuple[str, str] | None:
    if not _is_late(seen.lag, came):
        return None
    if done > came:
        return f"caught up in {age(seen.lag / (done - came) * 1000)}", "green"
    return ("falls behind", "yellow") if came > done else None


def _is_late(lag: int | None, came: float) -> bool:
    """Less lag than comes in so many seconds may be the batch that is read now."""
    return bool(lag) and (lag or 0) >= came * _BATCH_S


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)


def _members(
    seen: GroupReport,
    pace: Mapping[TopicPartition, Pace],
    names: Mapping[str, str],
    width: int,
) -> Table:
    table = _table()
    table.add_column("member", no_wrap=True)
    table.add_column("client" if seen.brokered else "kind", overflow="fold")
    if width >= _WIDEST:
        table.add_column("id", overflow="ellipsis", no_wrap=True)
    table.add_column("share", no_wrap=True)
    for name in ("owns", "waits", "lag", "committed/s"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    bar_max = _BAR if width >= _WIDE else _BAR // 2
    most = max((member.owns for member in seen.members), default=0)
    for member in seen.members:
        rows = [row for row in seen.partitions if row.member == member.consumer]
        bar = "█" * round(member.owns * bar_max / most) if most else ""
        ids = (member.consumer,) if width >= _WIDEST else ()
        waits = "?" if member.waiting is None else str(len(member.waiting))
        # A classic group of the brokers does not tell its shares while it rebalances.
        is_told = seen.brokered is None or seen.brokered.shows_assignment
        share = Text(bar, style="blue")
        if not member.owns:
            share = Text("nothing", style="yellow") if is_told else Text("?")
        add_row(
            table,
            names.get(member.consumer, member.consumer),
            _client(member),
            *ids,
            share,
            str(member.owns) if is_told else "?",
            waits,
            f"{sum(row.lag or 0 for row in rows):,}",
            _rate([pace[row.partition].done for row in rows if row.partition in pace]),
        )
    return table


def _client(member: MemberRow) -> str:
    if member.client:
        return f"{member.client} at {member.host.lstrip('/')}"
    return f"{member.kind} {member.protocol}" if member.protocol else member.kind


def _partitions(moment: Moment, names: Mapping[str, str], room: int, *, is_wide: bool) -> Table:
    rows = moment.seen.partitions
    settled = all(row.state == "owned" for row in rows)
    table = _table()
    table.add_column("partition", overflow="fold")
    table.add_column("owner", no_wrap=True)
    if not settled:
        table.add_column("what moves")
    for name in ("lag", "in/s", "committed/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(rows, key=_first)[:room]:
        owner = row.member
        pace = moment.paces.get(row.partition)
        behind = pace is not None and pace.came > pace.done and _is_late(row.lag, pace.came)
        add_row(
            table,
            str(row.partition),
            "-" if owner is None else names.get(owner, owner),
            *(() if settled else (_what_moves(row, names, is_wide=is_wide),)),
            Text("-" if row.lag is None else f"{row.lag:,}", style="yellow" if behind else ""),
            _rate([] if pace is None else [pace.came]),
            _rate([] if pace is None else [pace.done]),
        )
    return table


def _first(row: PartitionRow) -> tuple[bool, int, TopicPartition]:
    return (row.state in ("owned", "unread"), -(row.lag or 0), row.partition)


def _what_moves(row: PartitionRow, names: Mapping[str, str], *, is_wide: bool) -> Text:
    """And why it does not yet, where there is room."""
    if row.state == "owned":
        return Text("")
    to = row.wanted_member
    taker = "" if to is None else names.get(to, to)
    if row.undecided:
        said = row.undecided
    elif row.state == "moving":
        said = f"to {taker}" if taker else "to no member"
        said += ", when its owner's batch ends" if is_wide else ""
    elif row.state == "free":
        said = f"{taker} is to claim it" if taker else "no owner"
    elif row.state == "stuck":
        said = "stuck: its owner is no member"
    else:
        said = "no reader"
    return Text(cell(said).plain, style=_STATE_STYLES.get(row.state, ""))


def _rate(values: Sequence[float]) -> str:
    return f"{sum(values):,.0f}" if values else "-"
