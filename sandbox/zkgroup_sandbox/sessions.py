"""ZooKeeper sessions: one of our own to look with, and a second client that ends a given one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient

from pyspark_zkgroup.errors import SandboxError

CONNECT_TIMEOUT_S = 15.0


@contextmanager
def session(connect: str, client_id: tuple[int, bytes] | None = None) -> Iterator[KazooClient]:
    client = KazooClient(hosts=connect, timeout=10.0, client_id=client_id)
    try:
        # start() itself fails if the connection drops as soon as there is a session.
        if not client.start_async().wait(CONNECT_TIMEOUT_S):
            raise SandboxError.of("no_session", connect=connect, waited_s=CONNECT_TIMEOUT_S)
        yield client
    finally:
        client.stop()
        client.close()


def node_exists(connect: str, path: str) -> bool:
    with session(connect) as client:
        return client.exists(path) is not None


def children(connect: str, path: str) -> frozenset[str]:
    with session(connect) as client:
        return frozenset(client.get_children(path)) if client.exists(path) else frozenset()


def expire_session(connect: str, session_id: int, password: bytes) -> None:
    """End the session as ZooKeeper does at a timeout: its ephemeral nodes go, its client notices.

    A second client takes the session over with its id and password, and closes it. The server
    closes the first client's connection for that, the first client comes back at once, and the
    server closes the second one's connection in turn, perhaps before it has read the request to
    close the session. So the session has ended only when the server no longer knows it.
    """
    if not _taken_over(connect, session_id, password):
        raise SandboxError.of("unknown_session", connect=connect, session=session_id)
    while _taken_over(connect, session_id, password):
        pass


def _taken_over(connect: str, session_id: int, password: bytes) -> bool:
    """Whether the server knew the session, which is then asked to close."""
    with session(connect, (session_id, password)) as client:
        given = client.client_id
        # Without a connection there is no id: the first client has taken its session back.
        # A session that is gone is answered by a new one, which says nothing about the old.
        return given is None or given[0] == session_id
