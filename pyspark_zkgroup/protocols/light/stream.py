"""The interface of a light member's stream to one coordinator."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Protocol, TypeAlias

from pyspark_zkgroup.protocols.light.rules.messages import ToCoordinator, ToMember
from pyspark_zkgroup.security.stream_access import StreamAccess

Inbox: TypeAlias = "queue.SimpleQueue[ToMember | Exception]"


class NotLetInError(Exception):
    """The coordinator refuses a client without its token."""


class Stream(Protocol):
    """Puts what arrives into the inbox that it was opened with, in order; last an exception, the
    reason why no more will arrive. None of these methods waits.
    """

    def send(self, message: ToCoordinator) -> None: ...

    def finish(self) -> None:
        """Send nothing more; what was sent before is still delivered."""

    def close(self) -> None:
        """End at once, whatever is under way."""


OpenStream: TypeAlias = Callable[[str, StreamAccess, Inbox], Stream]
