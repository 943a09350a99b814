"""One ZooKeeper session: opened lazily, watched, and dead for good once it has expired.

Watches and changes of the connection only put events on a queue; nothing is decided in kazoo's
threads.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.exceptions import AuthFailedError, KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import EventType, KazooState
from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE

from pyspark_zkgroup import catalogue, clock
from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.zk.auth import WithoutLogins
from pyspark_zkgroup.zk.connection import SingleSessionClient
from pyspark_zkgroup.zk.port import (
    DisconnectedError,
    SessionEvent,
    SessionLostError,
    SessionSettings,
    UnreachedError,
)

# The share of the session's time that a lease leaves unused: clocks drift, and a plan takes time to
# be logged.
_LEASE_MARGIN = 0.25
# A request that is not answered within this share of the session's time counts as lost; it may
# still be executed.
_REQUEST_SHARE = 0.25
_REQUEST_S_MIN = 1.0
# How long to wait again before the server has been heard of: a member that reads on without it must
# not stand still for seconds at every boundary.
_PROBE_S = 0.1
_WITHOUT_LOGINS = WithoutLogins()

__all__ = [
    "DisconnectedError",
    "Session",
    "SessionEvent",
    "SessionLostError",
    "SessionSettings",
    "UnreachedError",
]


class Session:
    def __init__(self, settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]) -> None:
        self.settings = settings
        self.events = events
        # kazoo logs each dropped connection as a warning; ours names what it means for
        # the group.
        logger = logging.getLogger("pyspark_zkgroup.zk.kazoo")
        logger.setLevel(max(logger.level, logging.ERROR))
        logger.addFilter(_WITHOUT_LOGINS)
        self.client = SingleSessionClient(
            settings.connect,
            settings.timeout_ms / 1000.0,
            logger,
            settings.security,
            auth_data=[(scheme, credential) for scheme, credential in settings.auth],
        )
        self.client.add_listener(self._state_changed)
        self.id = 0
        self._lost = False
        # The last proof of life before a request that was not answered; a late answer is a newer
        # one.
        self._silent_at: float | None = None

    def open(self) -> None:
        """Connect, or raise AccessError or ServerError naming the addresses tried and the
        remedy.
        """
        self.client.start_async()
        connection = self.client.connection
        is_settled = connection.settled.wait(self.settings.connection_timeout_ms / 1000.0)
        if connection.refused is not None:
            self.close()
            raise AccessError.of(
                "zookeeper_refused",
                reason=connection.refused.what,
                remedy=connection.refused.remedy,
            )
        if not is_settled:
            trouble = [f"{address} {why}" for address, why in sorted(connection.trouble.items())]
            self.close()
            raise UnreachedError(
                *catalogue.what_and_remedy(
                    "ZKG-002",
                    "zookeeper_no_answer",
                    server=self.settings.hosts,
                    timeout_ms=self.settings.connection_timeout_ms,
                    reasons=f" ({'; '.join(trouble)})" if trouble else "",
                )
            )
        self.id = self.client.client_id[0]
        try:
            self._check_chroot()
        except BaseException:
            self.close()
            raise

    def _check_chroot(self) -> None:
        if self.settings.chroot and self.ask(self.client.exists_async("/")) is None:
            raise ServerError.of(
                "no_chroot", chroot=self.settings.chroot, server=self.settings.hosts
            )

    @property
    def alive(self) -> bool:
        """Not known to have expired. Only the server knows for sure."""
        return bool(self.id) and not self._lost

    @property
    def connected(self) -> bool:
        return self.alive and bool(self.client.connected)

    @property
    def negotiated_timeout_s(self) -> float:
        return self.client.connection.negotiated_timeout_s

    @property
    def request_timeout_s(self) -> float:
        if self.client.connection.proved_at == self._silent_at:
            return _PROBE_S
        return max(_REQUEST_S_MIN, self.negotiated_timeout_s * _REQUEST_SHARE)

    def lease_left_s(self) -> float:
        """How long the session surely lives yet: counted from the sending of the newest answered
        request.
        """
        spent = clock.monotonic() - self.client.connection.proved_at
        return self.negotiated_timeout_s * (1.0 - _LEASE_MARGIN) - spent

    def ask(self, answer: Any, timeout_s: float | None = None) -> Any:
        """Wait for one answer; the caller's own errors (NoNode, ...) pass through."""
        try:
            return answer.get(timeout=self.request_timeout_s if timeout_s is None else timeout_s)
        except Exception as error:
            raise self.translate(error) from error

    def translate(self, error: Exception) -> Exception:
        name = type(error).__name__
        if name in ("SessionExpiredError", "ConnectionClosedError"):
            self._lost = True
            return SessionLostError(f"session {self.id:#x} has ended")
        if name in ("ConnectionLoss", "OperationTimeoutError", "SessionMovedError"):
            return DisconnectedError(name)
        if isinstance(error, KazooTimeoutError):
            self._silent_at = self.client.connection.proved_at
            return DisconnectedError("no answer in time")
        if isinstance(error, AuthFailedError):
            # The connection broke, and the server refused us when we came again: opening a new
            # session says why.
            self._lost = True
            return SessionLostError(f"session {self.id:#x} is refused")
        return error

    def watcher(self, path: str) -> Callable[[Any], None]:
        def changed(event: Any) -> None:
            # An event without a type tells that the watch was dropped with its connection.
            if event.type != EventType.NONE:
                self.events.put(SessionEvent("changed", path))

        return changed

    def acl(self) -> Sequence[ACL] | None:
        """For owner and offset nodes; the ids chain is always world-open, as the JVM members leave
        it.
        """
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE] if self.settings.set_acl else None

    def close(self) -> None:
        """End the session on the server as well, with all its nodes in one transaction. May be
        called twice.
        """
        lost, self._lost = self._lost, True
        try:
            if lost or not self.client.connected:
                # No server to tell: the session ends by its timeout.
                self.client.abandon()
            else:
                self.client.end()
        except (KazooException, KazooTimeoutError, OSError) as error:
            logging.getLogger("pyspark_zkgroup.zk").warning(
                catalogue.warning("ZKG-116", session=self.id, error=error)
            )

    def _state_changed(self, state: str) -> None:
        if state == KazooState.LOST:
            self._lost = True
            self.events.put(SessionEvent("lost"))
        elif state == KazooState.SUSPENDED:
            self.events.put(SessionEvent("suspended"))
        else:
            self.events.put(SessionEvent("connected"))
