"""Decides when to look at the group next: after events of the session, other causes, or a time."""

from __future__ import annotations

import queue

from pyspark_zkgroup.protocols.owned.member_context import Member
from pyspark_zkgroup.zk.port import SessionEvent

_CAUSES_MAX = 10
# The pause after a failed look (Kafka is away, or nodes change faster than they are read).
LOOK_BACKOFF_S = 1.0
_MEND_S = 10.0


class Agenda:
    """`joined`: the registration was made (or found) under the present session. `asked_anew`: our
    request node may have changed since it was last read; `offsets_written`: a watched offset node
    may have changed. `trouble` is why the last look failed.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        self.joined = False
        self.asked_anew = self.offsets_written = True
        self.not_before, self.refresh_at = 0.0, float("inf")
        self.trouble = ""
        self._causes: list[str] = ["start"]
        self._is_told = False
        """An event is among the causes, and has ended no wait yet."""
        self._events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()

    def new_session(self) -> queue.SimpleQueue[SessionEvent]:
        """Return the queue for the events of a session that is about to be opened."""
        self._events = queue.SimpleQueue()
        self.asked_anew = self.offsets_written = True
        return self._events

    def is_due(self) -> bool:
        """Return whether to look. Asked at every boundary, also when there is nothing new."""
        now = self.member.clock.monotonic()
        if now >= self.refresh_at:
            self.stir("it was time for another look")
        return self.stirred() and now >= self.not_before

    def put_off(self, seconds: float) -> None:
        self.not_before = self.member.clock.monotonic() + seconds

    def follow_up(self, *, again: bool, later: bool) -> None:
        """After a rebalance: look again at once, or later, when a node may have been corrected."""
        if later:
            self.refresh_at = min(self.refresh_at, self.member.clock.monotonic() + _MEND_S)
        if again:
            self.put_off(LOOK_BACKOFF_S)
            self.stir("the last rebalance was not complete")

    def stirred(self) -> bool:
        self.drain()
        return bool(self._causes)

    def stir(self, cause: str) -> None:
        if len(self._causes) < _CAUSES_MAX and cause not in self._causes:
            self._causes.append(cause)
        if cause.startswith("/"):
            self.member.holdings.parked.clear()

    def take_causes(self) -> list[str]:
        causes, self._causes, self._is_told = self._causes, [], False
        return causes

    def changed_meanwhile(self) -> bool:
        """Return whether an event came during the look, which is then repeated and covers it."""
        self.drain()
        return bool(self.take_causes())

    def drain(self) -> None:
        while not self._events.empty():
            self._note(self._events.get())

    def wait(self, timeout_s: float) -> None:
        """Until the next event. One that came since the last look ends it too.

        A new query claims, which changes a node that it watches; `stirred` takes the event from the
        queue; and a wait for another one would last for its whole time.
        """
        if self._is_told:
            self._is_told = False
            return
        event = self.member.clock.next_of(self._events, timeout_s)
        if event is not None:
            self._note(event)

    def _note(self, event: SessionEvent) -> None:
        paths = self.member.paths
        if event.kind == "changed" and event.path.startswith(f"{paths.offsets}/"):
            # Most often by our own commit, which is no cause to look at the group.
            self.offsets_written = True
        elif event.kind == "changed":
            # Separate from the causes: those that come during a look are covered by its repetition.
            self.asked_anew |= event.path == paths.request(self.member.consumer)
            self._is_told = True
            self.stir(event.path)
        elif event.kind == "connected":
            # Watches do not outlive a connection.
            self.asked_anew = self.offsets_written = True
            if self.joined:
                self.stir("connected again")
