"""The line that shows how far a job is."""

from __future__ import annotations

import io

import pytest

from pyspark_zkgroup.jobs.progress import Progress, bar, bar_on, duration, line


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(0, None, 0.0), "0 offsets, 0/s"),
        (Progress(0, 500, 2.0), "0 offsets, 0/s, lag 500"),
        (
            Progress(3_000_000, 1_500_000, 10.0),
            "3,000,000 offsets, 300,000/s, lag 1,500,000, 5 s left",
        ),
        (Progress(10, 0, 4.0), "10 offsets, 2/s, lag 0, 0 s left"),
    ],
)
def test_the_line_says_what_is_known(progress: Progress, text: str) -> None:
    assert line(progress) == text


@pytest.mark.parametrize(
    ("progress", "start"),
    [
        (Progress(10, None, 1.0), "10 offsets"),
        (Progress(0, 500, 2.0), "[........................]   0% "),
        (Progress(250, 750, 2.0), "[######..................]  25% "),
        (Progress(500, 0, 2.0), "[########################] 100% "),
        (Progress(0, 0, 0.0), "[########################] 100% "),
    ],
)
def test_the_bar_shows_the_share(progress: Progress, start: str) -> None:
    assert bar(progress, 200).startswith(start)


@pytest.mark.parametrize("columns", [0, 1, 20, 40])
def test_the_bar_fits_the_terminal(columns: int) -> None:
    assert len(bar(Progress(250, 750, 2.0), columns)) == max(0, columns - 1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (59.4, "59 s"),
        (60.0, "1 min"),
        (61.0, "1 min 1 s"),
        (3600.0, "1 h"),
        (3661.0, "1 h 1 min"),
        (90_000.0, "25 h"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    shown = bar_on(out)
    assert shown is not None
    shown.draw(Progress(5, 15, 1.0))
    shown.draw(Progress(0, None, 0.0))
    shown.clear()
    first, second, cleared, end = out.getvalue().split("\r")[1:]
    assert first.rstrip() == "[######..................]  25% 5 offsets, 5/s, lag 15, 3 s"
    assert second == "0 offsets, 0/s".ljust(59)
    assert (cleared, end) == (" " * 59, "")


def test_there_is_no_bar_elsewhere() -> None:
    assert bar_on(io.StringIO()) is None
