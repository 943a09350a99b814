"""How long a member waits for the next event."""

from __future__ import annotations

import queue
from dataclasses import replace
from typing import Any, cast

from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.zk.port import SessionEvent
from tests.fakes.answering_store import member_of
from tests.fakes.still_clock import StillClock

OWNERS = SessionEvent("changed", "/consumers/g/owners/orders")


class Waiting(StillClock):
    def next_of(
        self, events: queue.SimpleQueue[SessionEvent], timeout_s: float
    ) -> SessionEvent | None:
        if events.empty():
            self.now += timeout_s
            return None
        return events.get()


def test_an_event_since_the_last_look_ends_the_next_wait_and_no_other() -> None:
    clock = Waiting()
    agenda = Agenda(replace(member_of(), clock=cast(Any, clock)))
    events, began = agenda.new_session(), clock.now
    agenda.take_causes()
    events.put(OWNERS)
    assert agenda.stirred()
    agenda.wait(5.0)
    assert clock.now == began
    agenda.wait(5.0)
    assert clock.now == began + 5.0


def test_a_look_covers_what_came_before_it() -> None:
    clock = Waiting()
    agenda = Agenda(replace(member_of(), clock=cast(Any, clock)))
    events, began = agenda.new_session(), clock.now
    events.put(OWNERS)
    assert agenda.stirred()
    assert OWNERS.path in agenda.take_causes()
    agenda.wait(5.0)
    assert clock.now == began + 5.0
