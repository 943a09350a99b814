"""Light members and the desk that serves them, in one process. Each request of the coordinator to
ZooKeeper for a member is counted for that member.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import grpc

from pyspark_zkgroup.protocols.light.call import Call
from pyspark_zkgroup.protocols.light.conversation import Conversation, Greet, Outbox
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Hello,
    Ping,
    Pong,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.stream import Inbox, Stream
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionEvent
from tests.bench.asked import Asked

SESSION_TIMEOUT_MS = 3_600_000
"""The longest possible: one process drives all members, and none must count as dead."""
_STREAMS_MAX = 1000
_LOOK_UP_S = 10.0


class Carrier(Protocol):
    """How messages get from a member to the desk and back."""

    @property
    def address(self) -> str: ...

    def open_stream(self, address: str, access: StreamAccess, inbox: Inbox, /) -> Stream: ...

    def close(self) -> None: ...


class Direct:
    """Within the process: each message of a member is handled at once, in its thread. So only the
    bench uses its fake ZooKeeper, which does not support threads.
    """

    address = "any:9010"

    def __init__(self, greet: Greet) -> None:
        self.greet = greet

    def open_stream(self, _address: str, _access: StreamAccess, inbox: Inbox, /) -> DirectStream:
        return DirectStream(self.greet, inbox)

    def close(self) -> None:
        """There is no server to close."""


class DirectStream:
    def __init__(self, greet: Greet, inbox: Inbox) -> None:
        self.greet = greet
        self.outbox = DirectOutbox(inbox)
        self.talk: Conversation | None = None

    def send(self, message: ToCoordinator) -> None:
        if isinstance(message, Hello):
            self.talk = self.greet(message, self.outbox, Caller())
        elif self.talk is not None:
            self.talk.take(message)

    def finish(self) -> None:
        talk, self.talk = self.talk, None
        if talk is not None:
            talk.end()

    def close(self) -> None:
        self.finish()


class DirectOutbox(Outbox):
    def __init__(self, inbox: Inbox) -> None:
        super().__init__()
        self.inbox = inbox

    def put(self, message: ToMember) -> None:
        if not self.closed.is_set():
            self.inbox.put(message)

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self.inbox.put(ConnectionError("the stream was closed"))


class OverGrpc:
    """As in production: each member has a separate channel to a port of this machine."""

    def __init__(self, greet: Greet) -> None:
        # Threads of gRPC that wait look up ten times a second: of 500 members in one process little
        # else would be done.
        grpc._common.MAXIMUM_WAIT_TIMEOUT = _LOOK_UP_S
        self.listener = Listener("127.0.0.1:0", StreamAccess(), greet, _STREAMS_MAX)
        self.address = f"127.0.0.1:{self.listener.port}"

    def open_stream(self, address: str, access: StreamAccess, inbox: Inbox, /) -> Call:
        return Call(address, access, inbox)

    def close(self) -> None:
        self.listener.close()


class LightCounter:
    """`accounts` by the name of the member; `own` is the coordinator's."""

    def __init__(self, carry: Callable[[Greet], Carrier]) -> None:
        self.own = Asked()
        self.accounts: dict[str, Asked] = {}
        self.desk = LightDesk(("any:9092",))
        self.desk.is_served = True
        self.carrier = carry(self.greet)
        self._serving = threading.local()
        self._sessions: list[LightSession] = []

    def bill(self) -> Asked:
        """The account of who is being served in this thread."""
        account: Asked = getattr(self._serving, "account", self.own)
        return account

    @contextmanager
    def serving(self, account: Asked) -> Iterator[None]:
        before = self.bill()
        self._serving.account = account
        try:
            yield
        finally:
            self._serving.account = before

    def greet(self, hello: Hello, outbox: Outbox, caller: Caller) -> Conversation | None:
        account = self.accounts.setdefault(hello.consumer, Asked())
        plain = outbox.put

        def put(message: ToMember) -> None:
            account.messages += not isinstance(message, Ping)
            plain(message)

        outbox.put = put  # type: ignore[method-assign]
        account.messages += 1
        with self.serving(account):
            seat = self.desk.greet(hello, outbox, caller)
        return None if seat is None else _OnAccount(self, account, seat)

    def open_light(
        self, settings: LightSettings, events: queue.SimpleQueue[SessionEvent]
    ) -> LightSession:
        session = LightSession(settings, events, self.carrier.open_stream)
        self._sessions.append(session)
        session.open()
        return session

    def close(self) -> None:
        """Members do not leave: that would delete all their nodes, one member after another."""
        self.desk.end()
        for session in self._sessions:
            session.id = -1
            session.close()
        self.carrier.close()


class _OnAccount:
    def __init__(self, counter: LightCounter, account: Asked, talk: Conversation) -> None:
        self.counter = counter
        self.account = account
        self.talk = talk

    def take(self, message: ToCoordinator) -> None:
        self.account.messages += not isinstance(message, Pong)
        with self.counter.serving(self.account):
            self.talk.take(message)

    def end(self) -> None:
        self.talk.end()
