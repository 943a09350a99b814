"""A light member's search for its coordinator."""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.clock import SystemClock
from pyspark_zkgroup.protocols.light.coordinator_search import CoordinatorSearch, LightSettings
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.protocols.light.stream import Inbox
from pyspark_zkgroup.security.stream_access import StreamAccess


def test_a_search_that_pauses_ends_as_soon_as_it_is_closed() -> None:
    pauses = threading.Event()

    class Clock(SystemClock):
        def next_of(self, events: queue.SimpleQueue[Any], timeout_s: float) -> Any:
            if timeout_s < 1.0:  # The pause; the other wait is for a message.
                pauses.set()
                timeout_s = 60.0
            return super().next_of(events, timeout_s)

    opened, closed = [], []

    def away(address: str, _access: StreamAccess, inbox: Inbox) -> Any:
        opened.append(address)
        inbox.put(ConnectionRefusedError("away"))
        return SimpleNamespace(send=lambda _: None, close=lambda: closed.append(address))

    settings = LightSettings(("one:1",), StreamAccess(), Hello("g", "g_a", "x" * 32, 40_000))
    session: Any = SimpleNamespace(id=-1, cut_off=lambda: None)
    search = CoordinatorSearch(settings, away, Clock(), session)
    thread = threading.Thread(target=search.run, daemon=True)
    thread.start()
    assert pauses.wait(10)
    search.close()
    thread.join(10)
    assert not thread.is_alive()
    assert opened == closed == ["one:1"]
