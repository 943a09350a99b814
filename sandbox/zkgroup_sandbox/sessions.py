"""ZooKeeper sessions: one of our own to look with, and a second client that ends a given one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from pyspark_zkgroup.errors import SandboxError

CONNECT_TIMEOUT_S = 15.0


@contextmanager
def session(connect: str, client_id: tuple[int, bytes] | None = None) -> Iterator[KazooClient]:
    client = KazooClient(hosts=connect, timeout=10.0, client_id=client_id)
    try:
        client.start(timeout=CONNECT_TIMEOUT_S)
        yield client
    except KazooTimeoutError as error:
        raise SandboxError.of("no_session", connect=connect, waited_s=CONNECT_TIMEOUT_S) from error
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

    A second client takes the session over with its id and password, and closes it.
    """
    with session(connect, (session_id, password)) as client:
        given = client.client_id
        # A session that is gone is answered by a new one, which says nothing about the old.
        if given is None or given[0] != session_id:
            raise SandboxError.of("unknown_session", connect=connect, session=session_id)
