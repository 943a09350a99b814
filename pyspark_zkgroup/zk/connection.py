"""A kazoo client that is one session and no more, and knows when the server last answered.

kazoo's own client opens a new session by itself once the old one has expired; a request queued in
that moment is then executed in a session that never meant it. Here the client ends with its
session, so this cannot happen. The classes below override inner methods of kazoo (libraries.py
names the versions that were tested); tests/contract/test_zk_session.py fails when they change.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, SASLException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.connection import PING_XID, ConnectionDropped, ConnectionHandler
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry
from kazoo.version import __version__ as kazoo_version

from pyspark_zkgroup import clock, libraries
from pyspark_zkgroup.security.tls_failure import failure_of
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity
from pyspark_zkgroup.zk import refusal
from pyspark_zkgroup.zk.auth import TlsHandler, sasl_options
from pyspark_zkgroup.zk.refusal import Refusal

# Between two tries to reach a server again: quick, since a session's timeout does not wait.
_RECONNECT_DELAY_S = 0.1
_RECONNECT_DELAY_MAX_S = 1.0
# A server that ends may drop a login half way; one that drops it again and again refuses it.
_DROPPED_LOGINS_MAX = 3


class TimedConnection(ConnectionHandler):  # type: ignore[misc]
    """Notes when the newest request or ping was sent that the server has answered, and why a server
    was not connected to. A refusal by all of them ends the client.

    The send counts, not the answer: the server renewed the session at some time after the send, and
    an answer may have been on its way for long.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.proved_at = 0.0
        self.negotiated_timeout_s = 0.0
        self.settled = threading.Event()
        """Connected and logged in, or refused for good."""
        self.refused: Refusal | None = None
        self.trouble: dict[str, str] = {}
        """By address: why the last attempt at it has failed."""
        self._refusing: dict[str, Refusal] = {}
        self._dropped_logins = 0
        self._sent: dict[int, float] = {}
        self._pings: deque[float] = deque()

    def _expand_client_hosts(self) -> list[tuple[str, str, int]]:
        """kazoo passes over a host without an address, which then looks like a silent server."""
        found: list[tuple[str, str, int]] = super()._expand_client_hosts()
        resolved = {host for host, _, _ in found}
        for host, port in self.client.hosts:
            if host.strip() not in resolved:
                self.trouble[f"{host}:{port}"] = "has a host name that cannot be resolved (DNS)"
        return found

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._sent.clear()
        self._pings.clear()
        began = clock.monotonic()
        try:
            read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
        except (AuthFailedError, SASLException, ConnectionDropped, KazooTimeoutError) as error:
            raise self._failed(f"{host}:{port}", error) from error
        self.negotiated_timeout_s = read_timeout_ms * 1.5 / 1000.0
        self.proved_at = max(self.proved_at, began)
        self._refusing.clear()
        self.trouble.clear()
        self._dropped_logins = 0
        self.settled.set()
        return read_timeout_ms, connect_timeout_ms

    def _failed(self, address: str, error: Exception) -> Exception:
        """What to raise. One server of an ensemble may refuse for a reason that the others do not
        have: they are tried.
        """
        why = self._refusal(error)
        self.trouble[address] = self._guess(error) if why is None else why.what
        ended: Exception = ConnectionDropped(self.trouble[address])
        if why is not None:
            self._refusing[address] = why
            if len(self._refusing) == len(set(self.client.hosts)):
                self.refused = Refusal(f"{address} {why.what}", why.remedy)
                self.settled.set()
                ended = AuthFailedError(why.what)
        return ended

    def _refusal(self, error: Exception) -> Refusal | None:
        if isinstance(error, (ConnectionDropped, KazooTimeoutError)):
            return refusal.of_tls(error.__context__)
        if self.sasl_options is None or self.client.sasl_cli is None:
            return refusal.AUTH_REFUSED
        if self.client.sasl_cli.complete:
            return refusal.AUTH_REFUSED
        if isinstance(error.__cause__, ConnectionDropped):
            self._dropped_logins += 1
            if self._dropped_logins < _DROPPED_LOGINS_MAX:
                return None
        return refusal.of_login(self.client.security)

    def _guess(self, error: Exception) -> str:
        """What a connection that only ended may mean, for who gets none at all."""
        if isinstance(error, KazooTimeoutError):
            return "says nothing"
        if isinstance(error.__context__, (TimeoutError, ConnectionRefusedError)):
            return str(error.__context__.strerror or "does not answer").lower()
        failure = failure_of(error.__context__)
        if failure is not None and failure.kind != "ended":
            return failure.what
        if self.client.use_ssl:
            return refusal.PLAIN_PORT
        return refusal.TLS_PORT

    def _submit(self, request: Any, timeout: float, xid: int | None = None) -> None:
        now = clock.monotonic()
        if xid == PING_XID:
            self._pings.append(now)
        elif xid:
            self._sent[xid] = now
        super()._submit(request, timeout, xid)

    def _read_header(self, timeout: float) -> tuple[Any, bytes, int]:
        header, buffer, offset = super()._read_header(timeout)
        if header.xid == PING_XID:
            sent = self._pings.popleft() if self._pings else 0.0
        else:
            sent = self._sent.pop(header.xid, 0.0)
        self.proved_at = max(self.proved_at, sent)
        return header, buffer, offset


class SingleSessionClient(KazooClient):  # type: ignore[misc]
    """Ends when its session has expired instead of opening another one."""

    def __init__(
        self,
        hosts: str,
        timeout_s: float,
        logger: logging.Logger,
        security: ZooKeeperSecurity = OPEN,
        **kwargs: Any,
    ) -> None:
        libraries.check("kazoo", kazoo_version)
        self.security = security
        self.sasl_cli: Any = None  # kazoo sets it at the first login
        logins = sasl_options(security)
        retry = KazooRetry(
            max_tries=-1, delay=_RECONNECT_DELAY_S, max_delay=_RECONNECT_DELAY_MAX_S, backoff=2
        )
        super().__init__(
            hosts=hosts,
            timeout=timeout_s,
            connection_retry=retry,
            command_retry=KazooRetry(max_tries=0, ignore_expire=False),
            logger=logger,
            handler=None if security.tls is None else TlsHandler(security.tls),
            use_ssl=security.tls is not None,
            **kwargs,
        )
        self._connection = TimedConnection(
            self, self._conn_retry.copy(), logger=self.logger, sasl_options=logins
        )

    @property
    def connection(self) -> TimedConnection:
        connection: TimedConnection = self._connection
        return connection

    def end(self) -> None:
        """End the session on the server too.

        A session that expires while it is being closed has set `_stopped` already: stop() then
        returns before the connection's thread has ended, and close() would fail.
        """
        self.stop()
        if self._connection.connection_stopped.is_set():
            self.close()
        else:
            self.abandon()

    def abandon(self) -> None:
        """End without a word to the server, which may not be there: stop() would wait for it. The
        connection's thread may be in the middle of connecting; what it holds is freed behind it.
        """
        self._stopped.set()
        threading.Thread(target=self._free, name="zkgroup-free", daemon=True).start()

    def _free(self) -> None:
        self._connection.stop()
        self._connection.close()
        self.handler.stop()

    def _session_callback(self, state: Any) -> None:
        if state == KeeperState.EXPIRED_SESSION:
            # Before the state changes: a request that comes now finds a client that is being
            # stopped.
            self._stopped.set()
        super()._session_callback(state)
