"""The member's sessions, one after another, and what they have stirred up since the last look."""

from __future__ import annotations

import logging
import queue

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.environment import Surroundings
from pyspark_zkgroup.protocols.owned.member_context import Holdings, MemberContext
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    NodeSession,
    SessionEvent,
    SessionLostError,
)

_CAUSES_MAX = 10
_UNNUMBERED = -1
_log = logging.getLogger("pyspark_zkgroup.group")


class SessionKeeper:
    """`joined`: the registration was made (or found) under the present session. `asked_anew`: our
    request node may be another than when it was last read; `offsets_written`: so may an offset node
    that was watched.
    """

    def __init__(
        self,
        options: Options,
        paths: GroupPaths,
        consumer: str,
        holdings: Holdings,
        surroundings: Surroundings,
    ) -> None:
        self.settings = options.zookeeper
        self.static = options.group.member_id is not None
        self.server = "ZooKeeper"
        self.paths = paths
        self.consumer = consumer
        self.holdings = holdings
        self.clock = surroundings.clock
        self.callback = RebalanceCallback(options.group.rebalance_callback)
        self.session: NodeSession | None = None
        self.context: MemberContext | None = None
        self.joined = False
        # Sessions that this process has closed. Where no server could be told, they live on until
        # their timeout, and their nodes with them.
        self.former: set[int] = set()
        self.asked_anew = True
        self.offsets_written = True
        self.offline_since: float | None = None
        self._open_store = surroundings.open_store
        self._causes: list[str] = ["start"]
        self._events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()

    def stand(self) -> MemberContext:
        """A live session's context; a new session where the last one has ended."""
        if self.session is not None and not self.session.alive:
            self.lose()
        if self.session is None:
            self._open()
        self.drain()
        session, context = self.session, self.context
        if session is None or context is None or not session.alive:
            raise SessionLostError("ended")
        if not session.connected:
            raise DisconnectedError("suspended")
        return context

    @property
    def may_plan(self) -> bool:
        """What is held stands: the session lives as far as we know, and its lease is not over.

        A connection is no proof. One to a server that has stopped answering looks alive for as long
        as requests are sent over it, since kazoo pings only where nothing else is sent.
        """
        session = self.session
        return session is not None and session.alive and session.lease_left_s() > 0

    def lose(self) -> None:
        if self.session is not None:
            _log.warning(
                "[ZKG-114] session %#x with %s has ended with %d partitions held: joining again",
                self.session.id,
                self.server,
                len(self.holdings.held),
            )
        self._close()
        self.session = self.context = None
        self.joined = False
        self.callback.tell("loss", self.holdings.held)
        self.holdings.lose_session()
        self.stir("the session has ended")

    def step_out(self) -> None:
        """Leave the group with all that is held, in one transaction of the server; the process goes
        on, and its next session is not a member's until it joins again.
        """
        self._close()
        self.session = self.context = None
        self.joined = False
        self.holdings.lose_session()

    def give_up(self) -> int:
        """From another thread, while no call is under way: the next one finds the session lost."""
        self._close()
        return len(self.holdings.held)

    def _close(self) -> None:
        if self.session is not None:
            self.former.add(self.session.id)
            self.session.close()

    def wait_out(self, error: DisconnectedError | ServerError, seconds: float) -> None:
        """In a replay, which can do nothing else until ZooKeeper and the brokers are back."""
        if isinstance(error, DisconnectedError):
            self.note_offline(error)
        else:
            _log.warning("%s", error)
        self.wait(seconds)

    def note_offline(self, error: Exception) -> None:
        if self.offline_since is None:
            self.offline_since = self.clock.monotonic()
            lease_s = self.session.lease_left_s() if self.session else 0.0
            # A process that was stopped, and goes on when its lease is over, finds its connection
            # dead: from in here that looks as if the server were away.
            _log.warning(
                "[ZKG-115] %s does not answer (%s): going on with what is held for at most %.1f "
                "s%s",
                self.server,
                error,
                max(0.0, lease_s),
                "" if lease_s > 0 else "; it is away, or this process stood still",
            )

    @property
    def notes(self) -> tuple[str, ...]:
        if self.offline_since is None:
            return ()
        return (f"{self.server} silent for {self.clock.monotonic() - self.offline_since:.0f} s",)

    def note_online(self) -> None:
        if self.offline_since is not None:
            silent_s = self.clock.monotonic() - self.offline_since
            _log.info("%s answers again after %.1f s", self.server, silent_s)
            self.offline_since = None

    # -- what has happened

    def stirred(self) -> bool:
        self.drain()
        return bool(self._causes)

    def stir(self, cause: str) -> None:
        if len(self._causes) < _CAUSES_MAX and cause not in self._causes:
            self._causes.append(cause)
        if cause.startswith("/"):
            self.holdings.parked.clear()

    def take_causes(self) -> list[str]:
        causes, self._causes = self._causes, []
        return causes

    def changed_meanwhile(self) -> bool:
        """Whether anything came while the group was looked at. The look is then repeated, which
        covers it.
        """
        self.drain()
        return bool(self.take_causes())

    def drain(self) -> None:
        while not self._events.empty():
            self._note(self._events.get())

    def wait(self, timeout_s: float) -> None:
        event = self.clock.next_of(self._events, timeout_s)
        if event is not None:
            self._note(event)

    def _note(self, event: SessionEvent) -> None:
        if event.kind == "changed" and event.path.startswith(f"{self.paths.offsets}/"):
            # Most often by our own commit: no cause to look at the group.
            self.offsets_written = True
        elif event.kind == "changed":
            # Apart from the causes: those that come during a look are covered by its repetition.
            self.asked_anew |= event.path == self.paths.request(self.consumer)
            self.stir(event.path)
        elif event.kind == "connected":
            # Watches do not outlive a connection.
            self.asked_anew = self.offsets_written = True
            if self.joined:
                self.stir("connected again")

    def _open(self) -> None:
        self._events = queue.SimpleQueue()
        self.asked_anew = self.offsets_written = True
        store = self._open_store(self.settings, self._events)
        self.session = store.session
        # That of a light member has no number yet, and is no session of ZooKeeper's.
        if self.session.id != _UNNUMBERED:
            _log.info(
                "session %#x with %s is open, for %s of group %s",
                *(self.session.id, self.server, self.consumer, self.paths.group),
            )
        self.context = MemberContext(
            store, self.paths, self.consumer, self.static, self.holdings, self.clock, self.callback
        )
