"""What a member takes from its process."""

from __future__ import annotations

import queue
from typing import Any

import pytest

from pyspark_zkgroup.protocols.environment import REAL
from pyspark_zkgroup.zk.port import SessionEvent, SessionSettings


def test_a_store_has_a_session_that_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[object, object]] = []

    class Session:
        def __init__(self, settings: object, events: object) -> None:
            self.given = settings, events

        def open(self) -> None:
            opened.append(self.given)

    monkeypatch.setattr("pyspark_zkgroup.zk.session.Session", Session)
    monkeypatch.setattr("pyspark_zkgroup.zk.store.Store", lambda session: ("store", session))
    settings = SessionSettings("zk1:2181", "", 5000, 5000)
    events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
    store: Any = REAL.open_store(settings, events)
    kind, session = store
    assert kind == "store"
    assert opened == [session.given] == [(settings, events)]


def test_names_and_secrets_are_unique() -> None:
    assert REAL.new_name(REAL.clock) != REAL.new_name(REAL.clock)
    first, second = REAL.new_secret(), REAL.new_secret()
    assert first != second
    assert len(first) == 64
