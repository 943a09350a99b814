"""A candidate: stands for election when there is no coordinator, and serves while it is elected.

It has a separate thread and a separate session, so that a slow or fenced member in the same driver
takes nothing from the groups, and a slow candidate takes nothing from the member.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import AccessError, BadZnodeError, ServerError
from pyspark_zkgroup.group.ops import Create, Done, InDoubt
from pyspark_zkgroup.group.paths import COORDINATED, COORDINATOR
from pyspark_zkgroup.protocols.coordinator.desk import ANSWERS, Desk
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import (
    Candidacy,
    encode_candidacy,
    parse_candidacy,
)
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.coordinator.topics import Topics
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    NodeStore,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)

# Watches report every change; this limits what a lost watch costs.
_LOOK_S = 60.0
_AGAIN_S = 1.0
_CLOSE_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.coordinator")


@dataclass(frozen=True, slots=True)
class Watching:
    """If brokers do not register in ZooKeeper: how to ask Kafka for the topics, how often, and how
    to close that connection.
    """

    poll: Callable[[], Topics] | None = None
    every_s: float = 30.0
    close: Callable[[], None] = lambda: None


class Candidate:
    def __init__(
        self,
        settings: SessionSettings,
        candidacy: Candidacy,
        desk: Desk,
        watching: Watching | None = None,
        environment: Environment = REAL,
    ) -> None:
        self.settings = settings
        self.candidacy = candidacy
        self.watching = watching or Watching()
        self.environment = environment
        self.desk = desk
        self.desk.whereabouts = self.whereabouts
        self.term: Term | None = None
        self.store: NodeStore | None = None
        self._closing = False
        self._events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def in_office(self) -> bool:
        return self.term is not None

    def whereabouts(self) -> Candidacy | None:
        """Return the coordinator in office, for light members that ask here. For any thread."""
        store = self.store
        if store is None or not store.session.connected:
            return None
        try:
            (node,) = store.nodes([COORDINATOR])
            return None if node is None else parse_candidacy(COORDINATOR, node.data)
        except (DisconnectedError, SessionLostError, BadZnodeError, AccessError) as error:
            _log.warning(catalogue.warning("ZKG-171", error=error))
            return None

    def start(self) -> None:
        self._thread = threading.Thread(
            target=self.run, name=f"zkgroup-candidate-{self.candidacy.name}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Resign at once: the session ends, and another candidate is elected."""
        self._closing = True
        self._events.put(SessionEvent("suspended"))
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
        self.watching.close()

    def run(self) -> None:
        while not self._closing:
            try:
                self._one_session()
            except (AccessError, ServerError) as error:
                _log.warning(
                    catalogue.warning("ZKG-150", candidate=self.candidacy.name, error=error)
                )
                self._pause()
            except SessionLostError:
                _log.warning(catalogue.warning("ZKG-151", candidate=self.candidacy.name))
            except Exception:  # noqa: BLE001 - shown with its trace, and stood up from
                # A fault of ours must not end the one thread that serves all groups.
                _log.exception(catalogue.warning("ZKG-152", candidate=self.candidacy.name))
                self._pause()

    def _one_session(self) -> None:
        self._events = queue.SimpleQueue()
        store = self.environment.open_store(self.settings, self._events)
        self.store = store
        try:
            self._stand(store)
        finally:
            self.store = self.term = None
            store.session.close()

    def _stand(self, store: NodeStore) -> None:
        base = 0
        while not self._closing:
            if not store.session.alive:
                raise SessionLostError("ended")
            try:
                if not store.session.connected:
                    raise DisconnectedError("suspended")
                while not self._events.empty():
                    # Everything is read again now, whatever the events say.
                    self._events.get()
                epoch = self._elected(store)
                if epoch is None:
                    self._wait(_LOOK_S)
                    continue
                watching = self.watching
                clock = self.environment.clock
                self.desk.begin(store, epoch, self._wake)
                term = Term(store, epoch, base, watching.poll, watching.every_s, clock, self.desk)
                self.term = term
                _log.info("%s is the coordinator, epoch %d", self.candidacy.name, epoch)
                try:
                    self._serve(store, term)
                finally:
                    base = term.state.newest
                    self.term = None
                    self.desk.end()
            except DisconnectedError as error:
                _log.warning(
                    catalogue.warning("ZKG-153", candidate=self.candidacy.name, error=error)
                )
                self._wait(_AGAIN_S)

    def _elected(self, store: NodeStore) -> int | None:
        """Return the epoch, or None while another candidate is in office: its node is watched."""
        (node,) = store.stats([COORDINATOR], watch=True)
        if node is None:
            store.ensure([COORDINATED], world_open=True)
            data = encode_candidacy(self.candidacy)
            create = Create(COORDINATOR, data, ephemeral=True, world_open=True)
            (outcome,) = store.commit([(create,)])
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("the candidacy was not answered")
            if not isinstance(outcome, Done) and outcome.reason != "exists":
                raise ServerError.of(
                    "coordinator_node", path=COORDINATOR, reason=outcome.text or outcome.reason
                )
            (node,) = store.stats([COORDINATOR], watch=True)
        if node is None or node.ephemeral_owner != store.session.id:
            return None
        return node.node.czxid

    def _serve(self, store: NodeStore, term: Term) -> None:
        """Serve until the connection breaks, or the node of the election is gone."""
        while not self._closing:
            while not self._events.empty():
                if not self._note(store, term, self._events.get()):
                    return
            if not term.work():
                event = self.environment.clock.next_of(self._events, min(_LOOK_S, term.next_poll_s))
                if event is not None and not self._note(store, term, event):
                    return

    def _note(self, store: NodeStore, term: Term, event: SessionEvent) -> bool:
        if event.kind != "changed":
            return False
        if event.path == COORDINATOR:
            return self._elected(store) == term.state.epoch
        term.note(event.path)
        return True

    def _wake(self) -> None:
        """Wake the candidate: a light member has answered. Called from another thread."""
        self._events.put(SessionEvent("changed", ANSWERS))

    def _pause(self) -> None:
        # An event of the session that has failed would end the wait at once.
        self._events = queue.SimpleQueue()
        self._wait(_AGAIN_S)

    def _wait(self, timeout_s: float) -> None:
        if not self._closing:
            self.environment.clock.next_of(self._events, timeout_s)
