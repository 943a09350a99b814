"""How `lag --watch` ends, and what it does not go with."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli import lag
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.group.report import GroupFacts, GroupReport, report


class Told:
    """A group that gets a signal while it is looked at for the second time, or opened."""

    def __init__(self, number: int, *, at_once: bool) -> None:
        self.number, self.at_once = number, at_once
        self.looks = 0
        self.closed = False

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
        if self.looks == 2:
            os.kill(os.getpid(), self.number)
        assert self.looks < 5, "the signal was not heard"
        return report(GroupFacts("g"), {})


@pytest.fixture
def ended_by_sigterm() -> Iterator[Callable[..., object]]:
    """As it would end the process, if nobody had a handler."""

    def end(*_: Any) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, end)
    yield end
    signal.signal(signal.SIGTERM, before)


def watch(monkeypatch: pytest.MonkeyPatch, told: Told) -> Result:
    monkeypatch.setattr(lag, "live_group", told.open)
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
    assert "Goes with neither --json nor --fail-above." in shown
