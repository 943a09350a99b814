"""One light member's stream at its coordinator: what arrives, and what waits to be sent."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Hello, ToCoordinator, ToMember
from pyspark_zkgroup.protocols.light.rules.wire import BadMessageError

_QUEUE_MAX = 1000


class Outbox:
    """The messages to one member. If it is full, the member does not read, and the stream ends."""

    def __init__(self) -> None:
        self._messages: queue.Queue[ToMember | None] = queue.Queue(_QUEUE_MAX)
        self.closed = threading.Event()
        self.cancel: Callable[[], object] = lambda: None

    def put(self, message: ToMember) -> None:
        if self.closed.is_set():
            return
        try:
            self._messages.put_nowait(message)
        except queue.Full:
            self.cut()

    def cut(self) -> None:
        """End at once, even if the member has not read everything: its thread is freed."""
        self.close()
        self.cancel()

    def close(self) -> None:
        """End after sending what was put before, as far as the stream accepts it."""
        self.closed.set()
        try:
            self._messages.put_nowait(None)
        except queue.Full:
            return

    def messages(self) -> Iterator[ToMember]:
        while True:
            try:
                message = self._messages.get(timeout=None if not self.closed.is_set() else 0)
            except queue.Empty:
                return
            if message is None:
                return
            yield message


class Conversation(Protocol):
    """One member's side of the stream, at the coordinator."""

    def take(self, message: ToCoordinator) -> None: ...

    def end(self) -> None: ...


Greet: TypeAlias = Callable[[Hello, Outbox, Caller], "Conversation | None"]


class NotAdmittedError(Exception):
    """The caller may not join the group that it names."""


def converse(
    messages: Iterable[ToCoordinator],
    outbox: Outbox,
    greet: Greet,
    caller: Caller,
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Serve a stream until no more arrives. `begun`: the first message is there.

    The caller closes the outbox.
    """
    talk: Conversation | None = None
    try:
        for message in messages:
            if talk is not None:
                talk.take(message)
                continue
            begun()
            if not isinstance(message, Hello):
                raise BadMessageError("a stream begins with hello")
            if not caller.may_enter(message.group):
                raise NotAdmittedError(message.group)
            talk = greet(message, outbox, caller)
            if talk is None:
                break
    finally:
        if talk is not None:
            talk.end()
