"""What the demo shows: the story line by line, and below it, on a terminal, the group as it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from zkgroup_sandbox.demo.look import Look

COLOURS = ("cyan", "yellow", "magenta", "green", "blue")
# Where no picture can be kept up to date: how often a line says how it stands.
PLAIN_EVERY_S = 5.0
WIDTH_MAX = 88


@dataclass(frozen=True)
class Picture:
    title: str
    look: Look
    # Consumer id and what the demo knows of its driver, by the member's name.
    members: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    produced: int = 0
    in_table: int = 0


class Screen:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._live: Live | None = None
        self._shown = ("", 0.0)

    def say(self, text: str, style: str = "") -> None:
        stamp = f"{time.monotonic() - self._began:6.1f} s  "
        line = Text(stamp, style="dim").append(Text(text, style=style))
        self._console.print(line, soft_wrap=not self._console.is_terminal)

    def show(self, picture: Picture) -> None:
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False)
                self._live.start()
            width = min(self._console.width, WIDTH_MAX)
            self._live.update(render(picture, width), refresh=True)
            return
        owners, now = "".join(_owner_marks(picture)), time.monotonic()
        if owners != self._shown[0] or now - self._shown[1] > PLAIN_EVERY_S:
            self._shown = (owners, now)
            self.say(f"owners {owners}   {totals(picture)}")

    def close(self) -> None:
        """Leaves the last picture standing."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def render(picture: Picture, width: int) -> Panel:
    return Panel(
        Group(_partitions(picture), Text(), _members(picture), Text(), Text(totals(picture))),
        title=picture.title,
        title_align="left",
        border_style="dim",
        width=width,
    )


def totals(picture: Picture) -> str:
    look = picture.look
    read = sum(look.committed.values())
    return (
        f"produced {picture.produced}   committed {read}   lag {look.total_lag}   "
        f"in Delta {picture.in_table}"
    )


def _partitions(picture: Picture) -> Table:
    table = Table.grid(padding=(0, 0, 0, 1))
    table.add_column(width=9)
    look = picture.look
    for _ in look.ends:
        table.add_column(justify="right", width=5)
    colours = _colours(picture)
    marks = _owner_marks(picture)
    table.add_row("partition", *(Text(str(p), style="dim") for p in sorted(look.ends)))
    table.add_row("owner", *(Text(m, style=f"bold {colours.get(m, 'red')}") for m in marks))
    table.add_row("lag", *(_short(look.lag(p)) for p in sorted(look.ends)))
    return table


def _members(picture: Picture) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    colours = _colours(picture)
    for number, (name, (consumer, state)) in enumerate(picture.members.items(), 1):
        share = picture.look.share(consumer)
        lag = sum(map(picture.look.lag, share))
        owns = f"owns {len(share):2}" if share else "owns  -"
        style = f"bold {colours[str(number)]}"
        table.add_row(
            Text(f"{number}", style=style),
            Text(name, style=style),
            owns,
            f"lag {lag:6}" if share else "",
            Text(state, style="" if consumer in picture.look.members else "dim"),
        )
    return table


def _owner_marks(picture: Picture) -> Sequence[str]:
    """Per partition the number of its owner's member; - where it has none, ? for a stranger."""
    numbers = {c: str(n) for n, (c, _) in enumerate(picture.members.values(), 1)}
    owners = picture.look.owners
    return [numbers.get(owners[p], "?") if p in owners else "-" for p in sorted(picture.look.ends)]


def _colours(picture: Picture) -> dict[str, str]:
    return {str(n): COLOURS[(n - 1) % len(COLOURS)] for n in range(1, len(picture.members) + 1)}


def _short(number: int) -> str:
    return str(number) if number < 10_000 else f"{number // 1000}k"
