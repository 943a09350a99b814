"""The user's function is called with what moves, and never ends a query."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback

P, Q = TopicPartition("t", 1), TopicPartition("t", 0)
heard: list[tuple[str, list[tuple[str, int]]]] = []


def listen(event: str, partitions: list[tuple[str, int]]) -> None:
    heard.append((event, partitions))


def fail(event: str, partitions: list[tuple[str, int]]) -> None:
    raise RuntimeError(f"{event} of {partitions}")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("users_module")
    vars(module).update(listen=listen, fail=fail, number=5)
    monkeypatch.setitem(sys.modules, "users_module", module)
    heard.clear()


def test_partitions_come_sorted_and_never_none_of_them() -> None:
    callback = RebalanceCallback("users_module:listen")
    callback.tell("claim", {P, Q})
    callback.tell("release", set())
    assert heard == [("claim", [("t", 0), ("t", 1)])]


def test_without_a_function_nothing_is_called(caplog: pytest.LogCaptureFixture) -> None:
    RebalanceCallback().tell("claim", {P})
    assert caplog.messages == []


def test_an_exception_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    RebalanceCallback("users_module:fail").tell("loss", {P})
    (message,) = caplog.messages
    assert "ZKG-139" in message
    assert "RuntimeError: loss of [('t', 1)]" in caplog.text


@pytest.mark.parametrize(
    "name", ["users_module:absent", "no_module:listen", "users_module", "users_module:number"]
)
def test_what_cannot_be_called_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name}"):
        RebalanceCallback(name)
