"""Opens the member's sessions, one after another."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Collection

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    NodeSession,
    NodeStore,
    SessionEvent,
    SessionLostError,
)

Open = Callable[[queue.SimpleQueue[SessionEvent], Collection[int]], NodeStore]
_UNNUMBERED = -1
_log = logging.getLogger("pyspark_zkgroup.group")


class SessionKeeper:
    """`open_store` receives the queue for events and the sessions that this process has closed;
    `server` is the address that it uses, for messages.
    """

    def __init__(self, agenda: Agenda, open_store: Open, server: str = "ZooKeeper") -> None:
        self.agenda = agenda
        self.member = agenda.member
        self.server = server
        self.session: NodeSession | None = None
        self.context: MemberContext | None = None
        # Sessions that could not be closed at a server live until their timeout, and so do their
        # nodes.
        self.former: set[int] = set()
        self.offline_since: float | None = None
        self._open_store = open_store

    def stand(self) -> MemberContext:
        """Return a live session's context; open a new session if the last one has ended."""
        if self.session is not None and not self.session.alive:
            self.lose()
        if self.session is None:
            self._open()
        self.agenda.drain()
        session, context = self.session, self.context
        if session is None or context is None or not session.alive:
            raise SessionLostError("ended")
        if not session.connected:
            raise DisconnectedError("suspended")
        return context

    @property
    def may_plan(self) -> bool:
        """Return whether what is held can be planned: the session lives, as far as we know, and its
        lease is not over.

        A connection is no proof. One to a server that no longer answers looks alive as long as
        requests are sent over it, since kazoo pings only if nothing else is sent.
        """
        session = self.session
        return session is not None and session.alive and session.lease_left_s() > 0

    def lose(self) -> None:
        if self.session is not None:
            _log.warning(
                catalogue.warning(
                    "ZKG-114",
                    session=self.session.id,
                    server=self.server,
                    held=len(self.member.holdings.held),
                )
            )
        self.close()
        self.session = self.context = None
        self.agenda.joined = False
        self.member.callback.tell("loss", self.member.holdings.held)
        self.member.holdings.lose_session()
        self.agenda.stir("the session has ended")

    def step_out(self) -> None:
        """Leave the group with everything held, in one transaction of the server.

        The process continues; its next session has no registration until it joins again.
        """
        self.close()
        self.session = self.context = None
        self.agenda.joined = False
        self.member.holdings.lose_session()

    def give_up(self) -> int:
        """Called from another thread, between two calls: the next one finds the session lost."""
        self.close()
        return len(self.member.holdings.held)

    def close(self) -> None:
        if self.session is not None:
            self.former.add(self.session.id)
            self.session.close()

    def wait_out(self, error: DisconnectedError | ServerError, seconds: float) -> None:
        """Wait in a replay, which cannot continue until ZooKeeper and the brokers are back."""
        if isinstance(error, DisconnectedError):
            self.note_offline(error)
        else:
            _log.warning("%s", error)
        self.agenda.wait(seconds)

    def note_offline(self, error: Exception) -> None:
        if self.offline_since is None:
            self.offline_since = self.member.clock.monotonic()
            lease_s = self.session.lease_left_s() if self.session else 0.0
            # A process that was stopped, and continues when its lease is over, finds its connection
            # dead:
            # from inside this looks as if the server were away.
            _log.warning(
                catalogue.warning(
                    "ZKG-115",
                    server=self.server,
                    error=error,
                    left_s=max(0.0, lease_s),
                    note=""
                    if lease_s > 0
                    else "; the server is down, or this process was suspended",
                )
            )

    @property
    def notes(self) -> tuple[str, ...]:
        if self.offline_since is None:
            return ()
        return (
            f"{self.server} silent for {self.member.clock.monotonic() - self.offline_since:.0f} s",
        )

    def note_online(self) -> None:
        if self.offline_since is not None:
            silent_s = self.member.clock.monotonic() - self.offline_since
            _log.info("%s answers again after %.1f s", self.server, silent_s)
            self.offline_since = None

    def _open(self) -> None:
        store = self._open_store(self.agenda.new_session(), frozenset(self.former))
        self.session = store.session
        # A light member's has no number yet, and is no session of ZooKeeper.
        if self.session.id != _UNNUMBERED:
            _log.info(
                "Opened session %#x with %s for %s of group %s",
                *(self.session.id, self.server, self.member.consumer, self.member.paths.group),
            )
        self.context = self.member.on(store)
