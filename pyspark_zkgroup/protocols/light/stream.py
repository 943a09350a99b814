"""A light member's stream to one coordinator, whoever carries it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Protocol, TypeAlias

from pyspark_zkgroup.protocols.light.rules.messages import ToCoordinator, ToMember
from pyspark_zkgroup.security.stream_access import StreamAccess

Inbox: TypeAlias = "queue.SimpleQueue[ToMember | Exception]"


class NotLetInError(Exception):
    """The coordinator refuses who has not its token."""


class Stream(Protocol):
    """What comes in is put into the inbox that it was opened with, in order; last an exception, the
    reason why nothing more will come. None of these waits for anybody.
    """

    def send(self, message: ToCoordinator) -> None: ...

    def finish(self) -> None:
        """Nothing more is sent; what was sent before is still taken."""

    def close(self) -> None:
        """At once, whatever is under way."""


OpenStream: TypeAlias = Callable[[str, StreamAccess, Inbox], Stream]
