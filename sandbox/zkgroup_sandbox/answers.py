"""Asks one server whether it answers, by a short exchange on a separate socket."""

from __future__ import annotations

import socket

from zkgroup_sandbox.kafka_wire import ClusterState, Connection
from zkgroup_sandbox.ports import LOOPBACK

ANSWER_TIMEOUT_S = 2.0
ANSWER_BYTES_MAX = 64 * 1024


def zookeeper_mode(port: int) -> str | None:
    """`standalone`, `leader` or `follower`; None when the server does not serve."""
    try:
        with socket.create_connection((LOOPBACK, port), ANSWER_TIMEOUT_S) as connection:
            connection.settimeout(ANSWER_TIMEOUT_S)
            connection.sendall(b"srvr")
            text = _read_all(connection).decode("utf-8", "replace")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("Mode: "):
            return line.removeprefix("Mode: ").strip()
    return None


def broker_view(port: int) -> ClusterState | None:
    """What that very broker knows of the cluster; None when it does not answer."""
    try:
        with Connection((LOOPBACK, port), ANSWER_TIMEOUT_S) as connection:
            return connection.cluster_view()
    except OSError:
        return None


def _read_all(connection: socket.socket) -> bytes:
    received = bytearray()
    while len(received) < ANSWER_BYTES_MAX:
        part = connection.recv(65536)
        if not part:
            break
        received += part
    return bytes(received)
