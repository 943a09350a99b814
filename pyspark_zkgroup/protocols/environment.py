"""What a member takes from its process: clock, names, threads, and ways to open sessions.

Handed in, so that the simulation runs these very members in another world.
"""

from __future__ import annotations

import queue
import secrets
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.threads import SYSTEM_THREADS, Threads
from pyspark_zkgroup.zk.port import NodeStore, SessionEvent, SessionSettings

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store


class Changed(Protocol):
    """What two threads of a member share of a threading.Condition."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    def wait(self, timeout: float | None = None) -> bool: ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool: ...

    def notify_all(self) -> None: ...


def unique_name(clock: EventClock) -> str:
    """As the JVM members name themselves: host, milliseconds, eight hex digits."""
    return f"{socket.gethostname()}-{int(clock.time() * 1000)}-{uuid.uuid4().hex[:8]}"


def open_store(settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]) -> Store:
    """A new session, connected, or the ServerError that says why there is none."""
    # Only here: a member without ZooKeeper may have no kazoo.
    from pyspark_zkgroup.zk.session import Session
    from pyspark_zkgroup.zk.store import Store

    session = Session(settings, events)
    session.open()
    return Store(session)


@dataclass(frozen=True, slots=True)
class Environment:
    """`new_secret`: what a light member proves itself by. `open_light` is how it opens a session,
    where the world has another way.
    """

    clock: EventClock = SYSTEM
    new_name: Callable[[EventClock], str] = unique_name
    open_store: Callable[[SessionSettings, queue.SimpleQueue[SessionEvent]], NodeStore] = open_store
    new_secret: Callable[[], str] = lambda: secrets.token_hex(32)
    new_condition: Callable[[], Changed] = threading.Condition
    open_light: Callable[..., Any] | None = None
    threads: Threads = SYSTEM_THREADS


REAL = Environment()
