"""The requests of a light member on the stream that its coordinator has accepted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeAlias

from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.protocols.light.lease import Lease
from pyspark_zkgroup.protocols.light.rules.messages import Failed, Reply, ToCoordinator
from pyspark_zkgroup.protocols.light.stream import Stream
from pyspark_zkgroup.zk.port import DisconnectedError

_REQUEST_SHARE = 0.25
_REQUEST_S_MIN = 1.0
_PROBE_S = 0.1

_Answer: TypeAlias = "queue.SimpleQueue[Reply | DisconnectedError]"


class Exchange:
    """An answer proves the lease, from when its request was sent."""

    def __init__(self, clock: EventClock, lease: Lease) -> None:
        self.clock = clock
        self.lease = lease
        self.is_open = False
        # Never held while waiting.
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._number = 0
        self._asked: dict[int, tuple[_Answer, float]] = {}
        self._silent_at: float | None = None

    def take_up(self, stream: Stream) -> None:
        with self._lock:
            self._stream = stream
            self.is_open = True

    def ask(self, make: Callable[[int], ToCoordinator]) -> Reply:
        """Send the message that `make` makes with a number, and wait for the answer to it."""
        answer: _Answer = queue.SimpleQueue()
        with self._lock:
            stream = self._stream
            if not self.is_open or stream is None:
                raise DisconnectedError("no coordinator is at hand")
            self._number += 1
            number = self._number
            self._asked[number] = answer, self.clock.monotonic()
            stream.send(make(number))
        probe = self._silent_at == self.lease.proved_at
        patience_s = max(_REQUEST_S_MIN, self.lease.timeout_s * _REQUEST_SHARE)
        try:
            reply = self.clock.next_of(answer, _PROBE_S if probe else patience_s)
        finally:
            with self._lock:
                self._asked.pop(number, None)
        if reply is None:
            self._silent_at = self.lease.proved_at
            raise DisconnectedError("the coordinator did not answer in time")
        if isinstance(reply, DisconnectedError):
            raise reply
        if isinstance(reply, Failed) and reply.why == "offline":
            raise DisconnectedError(reply.text)
        if isinstance(reply, Failed) and reply.why == "forbidden":
            raise AccessError.of("refused_by_coordinator", reason=reply.text)
        return reply

    def say(self, message: ToCoordinator) -> None:
        """Send a message that has no answer; it is lost with the connection."""
        with self._lock:
            if self.is_open and self._stream is not None:
                self._stream.send(message)

    def answered(self, reply: Reply) -> None:
        with self._lock:
            found = self._asked.pop(reply.number, None)
        if found is not None:
            answer, sent_at = found
            self.lease.prove(sent_at)
            answer.put(reply)

    def cut_off(self) -> bool:
        """End with the stream: every request on it without an answer is in doubt. Return whether it
        was accepted.
        """
        with self._lock:
            was_open, self.is_open = self.is_open, False
            unanswered, self._asked = self._asked, {}
        for answer, _ in unanswered.values():
            answer.put(DisconnectedError("the connection to the coordinator broke"))
        return was_open

    def finish(self) -> None:
        """Send nothing more; what was sent before is still delivered."""
        with self._lock:
            if self._stream is not None:
                self._stream.finish()
