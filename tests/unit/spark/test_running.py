"""What `run_until_stopped` says and does, with a query that is played."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.spark import running, stopping
from pyspark_zkgroup.spark.stopping import apart


class Query:
    """Runs until it is stopped; `on_wait` is called while it is waited for."""

    id = "one"
    isActive = True  # noqa: N815 - as Spark spells it
    status = {"message": "Processing new data"}  # noqa: RUF012

    def __init__(self, on_wait: Any) -> None:
        self._on_wait = on_wait
        self.stopped = False
        end = '{"member": "a", "partitions": {"orders": {"0": {"from": 5, "until": 9}}}}'
        self.lastProgress = SimpleNamespace(
            batchId=6, json=f'{{"sources": [{{"endOffset": {end}}}]}}'
        )

    def awaitTermination(self, _timeout_s: float) -> bool:  # noqa: N802
        return bool(self._on_wait())

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture(autouse=True)
def _no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "asked_from_outside", lambda _: False)


def sent(signum: int) -> Any:
    return lambda: os.kill(os.getpid(), signum)


def test_a_query_that_ends_by_itself_says_nothing() -> None:
    said: list[str] = []
    assert running.run_until_stopped(Query(lambda: True), said.append)  # type: ignore[arg-type]
    assert said == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains_and_says_what_is_waited_for(
    signum: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(running, "stop", lambda _: True)
    assert running.run_until_stopped(Query(sent(signum)), said.append)  # type: ignore[arg-type]
    assert said[0].startswith(
        f"{signal.Signals(signum).name}: draining… The query stops when batch 7"
    )
    assert said[-1] == "drained: everything that was read is committed"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_stops_at_once_and_names_what_may_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    held = threading.Event()

    def never(_: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return held.wait(60)

    monkeypatch.setattr(running, "stop", never)
    query: Any = Query(sent(signal.SIGINT))
    assert not running.run_until_stopped(query, said.append)
    held.set()
    assert query.stopped
    assert said[-1] == "stopped at once: records of batch 7 (orders-0 from 9) may be read again"


def test_a_call_apart_returns_what_it_returns_and_raises_what_it_raises() -> None:
    assert apart(lambda: 7) == 7
    assert apart(lambda: threading.Event().wait(60), 0.01) is None
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 // 0)


def test_stop_calls_the_jvm_on_a_separate_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of a signal handler may have left the caller's py4j connection in mid-call."""
    seen: list[threading.Thread] = []

    def jvm_pid() -> int:
        seen.append(threading.current_thread())
        return 0

    monkeypatch.setattr(stopping, "_jvm_pid", jvm_pid)
    assert stopping.stop(SimpleNamespace(isActive=False))  # type: ignore[arg-type]
    assert seen != [threading.current_thread()]
