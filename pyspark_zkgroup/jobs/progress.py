"""How far a job is, in one line: what was read, how fast, what is left and for how long."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TextIO

BAR_CHARACTERS = 24
_UNITS = ((3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Progress:
    """`lag` is None until the member knows it."""

    offsets: int
    lag: int | None
    seconds: float

    @property
    def rate(self) -> float:
        return self.offsets / self.seconds if self.seconds > 0 else 0.0

    @property
    def share(self) -> float | None:
        """How much of what there is to read was read."""
        if self.lag is None:
            return None
        total = self.offsets + self.lag
        return self.offsets / total if total else 1.0

    @property
    def left_s(self) -> float | None:
        if self.lag is None or not self.rate:
            return None
        return self.lag / self.rate


def line(progress: Progress) -> str:
    found = [f"{progress.offsets:,} offsets", f"{progress.rate:,.0f}/s"]
    if progress.lag is not None:
        found.append(f"lag {progress.lag:,}")
    if progress.left_s is not None:
        found.append(f"{duration(progress.left_s)} left")
    return ", ".join(found)


def bar(progress: Progress, columns: int) -> str:
    """Return the line for a terminal of so many columns, which it never breaks."""
    text = line(progress)
    if progress.share is not None:
        filled = int(progress.share * BAR_CHARACTERS)
        text = f"[{'#' * filled}{'.' * (BAR_CHARACTERS - filled)}] {progress.share:4.0%} {text}"
    return text[: max(0, columns - 1)]


@dataclass(frozen=True, slots=True)
class Bar:
    """The last line of a terminal."""

    out: TextIO

    def draw(self, progress: Progress) -> None:
        columns = shutil.get_terminal_size().columns
        text = bar(progress, columns)
        self.out.write(f"\r{text:<{max(0, columns - 1)}}")
        self.out.flush()

    def clear(self) -> None:
        columns = shutil.get_terminal_size().columns
        self.out.write("\r" + " " * max(0, columns - 1) + "\r")
        self.out.flush()


def bar_on(out: TextIO) -> Bar | None:
    """Return a bar if the output is a terminal."""
    return Bar(out) if out.isatty() else None


def duration(seconds: float) -> str:
    """Return the two largest units: `1 h 5 min`, `40 s`."""
    left = round(seconds)
    found: list[str] = []
    for size, name in _UNITS:
        if left >= size or (size == 1 and not found):
            found.append(f"{left // size} {name}")
        left %= size
    return " ".join(found[:2])
