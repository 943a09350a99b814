"""What `lag` shows of what is known, how `lag --watch` ends, and what goes with what."""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from pyspark_zkgroup.cli import lag
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.inspect.report import GroupFacts, report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import TopicPartition


class Told:
    """A group that gets a signal while it is looked at for the last time, or opened."""

    def __init__(self, number: int, *, at_once: bool, looks: int = 2) -> None:
        self.number, self.at_once = number, at_once
        self.looks, self.last_look = 0, looks
        self.closed = False
        self.fails_at = -1

    @contextmanager
    def open(self, *_: Any) -> Iterator[Told]:
        try:
            if self.at_once:
                os.kill(os.getpid(), self.number)
            yield self
        finally:
            self.closed = True

    def look(self) -> GroupReport:
        self.looks += 1
        if self.looks == self.last_look:
            os.kill(os.getpid(), self.number)
        if self.looks == self.fails_at:
            raise ServerError("No Kafka broker answered")
        assert self.looks < 5, "the signal was not heard"
        return report(GroupFacts("g"), {})


@pytest.fixture
def ended_by_sigterm() -> Iterator[Callable[..., object]]:
    """Raises SystemExit on SIGTERM, which ends the process if there is no other handler."""

    def end(*_: Any) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, end)
    yield end
    signal.signal(signal.SIGTERM, before)


def watch(monkeypatch: pytest.MonkeyPatch, told: Told) -> Result:
    monkeypatch.setattr(lag, "found_group", told.open)
    arguments = ["lag", "g", "--zookeeper", "z:1", "--watch", "--interval", "0.1"]
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_its_regular_end(
    number: int,
    at_once: bool,
    monkeypatch: pytest.MonkeyPatch,
    ended_by_sigterm: Callable[..., object],
) -> None:
    told = Told(number, at_once=at_once)
    result = watch(monkeypatch, told)
    assert (result.exit_code, told.closed) == (0, True), result.output
    assert signal.getsignal(signal.SIGTERM) is ended_by_sigterm


@pytest.mark.parametrize("other", [("--json",), ("--fail-above", "3")])
def test_what_it_does_not_go_with_is_refused_and_its_help_says_so(other: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(main, ["lag", "g", "--zookeeper", "z:1", "--watch", *other])
    assert refused.exit_code == 2
    shown = " ".join(CliRunner().invoke(main, ["lag", "--help"]).output.split())
    assert "Not with --json or --fail-above." in shown


def test_into_a_pipe_each_look_is_a_table_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    result = watch(monkeypatch, Told(signal.SIGINT, at_once=False, looks=3))
    times = re.findall(r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} UTC$", result.stdout, re.MULTILINE)
    assert (len(times), result.stdout.count("committed/s")) == (2, 2), result.stdout
    assert "\x1b" not in result.stdout


def test_a_look_that_fails_does_not_end_a_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(signal.SIGINT, at_once=False, looks=4)
    told.fails_at = 2
    told.looks = 0
    result = watch(monkeypatch, told)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("committed/s") == 2, result.stdout
    assert "last look failed: [ZKG-002] No Kafka broker answered" in result.stderr


def test_the_first_commit_of_a_partition_is_no_progress_from_0() -> None:
    """A partition that starts at offset 1,000,000 is not read with a million records a second."""
    t = [TopicPartition("orders", n) for n in range(2)]
    ends = dict.fromkeys(t, 2_000_000)
    first = report(GroupFacts("g", offsets={t[0]: b"10"}), ends)
    then = report(GroupFacts("g", offsets={t[0]: b"30", t[1]: b"1000000"}), ends)

    class Both:
        seen = iter([first, then])

        def look(self) -> GroupReport:
            return next(self.seen)

    looks = lag._looks(cast(Any, Both()), 0.05)
    assert next(looks).rates == {}
    assert 0 < next(looks).rates["orders"] <= 20 / 0.05


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e10", "-1"])
@pytest.mark.parametrize(
    "command",
    [
        ("lag", "g", "--watch", "--interval"),
        ("top", "g", "--interval"),
        ("exporter", "g", "--interval"),
        ("stop", "g", "--all", "--timeout"),
        ("doctor", "g", "--watch-seconds"),
    ],
)
def test_a_time_that_cannot_be_waited_is_wrong_usage(
    command: tuple[str, ...], seconds: str
) -> None:
    result = CliRunner().invoke(main, [*command, seconds, "--bootstrap-servers", "127.0.0.1:1"])
    assert (result.exit_code, f"Invalid value for '{command[-1]}'" in result.stderr) == (2, True)


def test_an_interval_without_a_watch_is_wrong_usage() -> None:
    arguments = ["lag", "g", "--zookeeper", "z:1", "--interval", "3"]
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, "--interval is for --watch" in refused.stderr) == (2, True)


def lagging(known: int, unknown: int, topic: str = "orders") -> GroupReport:
    """By 60 in each partition whose end is known."""
    partitions = [TopicPartition(topic, n) for n in range(known + unknown)]
    offsets = dict.fromkeys(partitions, b"40")
    return report(GroupFacts("g", offsets=offsets), dict.fromkeys(partitions[:known], 100))


def shown(seen: GroupReport, width: int, rates: dict[str, float] | None = None) -> str:
    out = Console(width=width, file=io.StringIO())
    out.print(lag.table_of(out, seen, lag.by_topic(seen), rates))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize(
    ("known", "unknown", "title", "cell"),
    [
        (0, 8, "lag unknown", "-"),
        (2, 0, "lag 120", "120"),
        (2, 1, "lag 120, unknown for 1 partition", "120 + 1 unknown"),
        (2, 3, "lag 120, unknown for 3 partitions", "120 + 3 unknown"),
        (0, 0, "lag 0", ""),
    ],
)
def test_a_lag_that_is_not_known_is_not_0(known: int, unknown: int, title: str, cell: str) -> None:
    seen = lagging(known, unknown)
    assert lag.lag_text(seen) == title
    rows = [line.split("│") for line in shown(seen, 160).splitlines() if "orders" in line]
    assert [row[3].strip() for row in rows] == ([cell] if cell else [])


def test_rates_are_a_column_of_a_watch_only() -> None:
    assert "committed/s" not in shown(lagging(2, 0), 160)
    assert "committed/s" in shown(lagging(2, 0), 160, {})


@pytest.mark.parametrize(("width", "has_bar"), [(80, False), (110, True)])
def test_the_bar_gives_way_before_a_topic_is_broken(width: int, has_bar: bool) -> None:
    topic = "payments.transactions.of-today.v2"
    for rates in (None, {topic: 1234.0}):
        text = shown(lagging(2, 0, topic), width, rates)
        assert (topic in text, "█" in text) == (True, has_bar), text


def test_a_group_may_be_named_like_markup() -> None:
    assert "group [red]: lag 0" in shown(report(GroupFacts("[red]"), {}), 160)
