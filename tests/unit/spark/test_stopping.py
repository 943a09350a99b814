"""A query whose driver runs elsewhere."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from pyspark_zkgroup import stop
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.jobs.outcome import Job
from pyspark_zkgroup.spark import stopping


class Query:
    """Of Spark Connect, as far as `stop` asks it."""

    id = "q"
    isActive = True  # noqa: N815 - as Spark spells it
    lastProgress = None  # noqa: N815

    def stop(self) -> None:
        self.isActive = False


class NoQuery:
    pass


class Py4JNetworkError(Exception):
    """As py4j raises it once the JVM has ended."""


class Py4JJavaError(Exception):
    """As py4j raises what the JVM answers."""


Py4JNetworkError.__module__ = Py4JJavaError.__module__ = "py4j.protocol"


def test_what_is_no_query_is_refused_by_its_name() -> None:
    nothing: Any = NoQuery()
    with pytest.raises(OptionError, match="was given is a NoQuery, not the query"):
        stop(nothing)


def test_a_jvm_that_ends_with_the_same_signal_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SIGTERM reaches a whole process group: the JVM is gone while this waits for the batch."""

    def gone() -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    monkeypatch.setattr(stopping, "_jvm_pid", lambda: 0)
    query: Any = Query()
    query.stop = gone

    with caplog.at_level(logging.WARNING):
        assert stop(query, timeout_s=600) is False

    assert "[ZKG-187] Spark's JVM ended before q drained" in caplog.text


def test_what_a_living_jvm_answers_is_not_taken_for_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused() -> int:
        raise Py4JJavaError("the query did not stop in time")

    monkeypatch.setattr(stopping, "_jvm_pid", lambda: 0)
    query: Any = Query()
    query.stop = refused
    with pytest.raises(Py4JJavaError, match="did not stop in time"):
        stop(query, timeout_s=600)
    with pytest.raises(Py4JJavaError, match="did not stop in time"):
        Job("stream_to_delta").status(refused)


def test_a_job_without_its_jvm_ends_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> int:
        raise ConnectionRefusedError(111, "Connection refused")

    assert Job("stream_to_delta").status(work) == 1
    out = capsys.readouterr().out
    assert out.startswith("stream_to_delta: failed: [ZKG-187] Spark's JVM ended before")
    assert "KillMode=mixed" in out


def test_a_query_without_a_driver_on_this_machine_is_stopped_at_once_and_not_as_drained(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stopping, "_jvm_pid", lambda: 0)
    query: Any = Query()
    began = time.monotonic()

    with caplog.at_level(logging.WARNING):
        assert stop(query, timeout_s=600) is False

    assert not query.isActive
    assert time.monotonic() - began < 60
    assert "[ZKG-144] Stopped query q before it drained" in caplog.text
