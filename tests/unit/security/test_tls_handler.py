"""The sockets that kazoo receives in place of plain ones: on a real TLS connection."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from pyspark_zkgroup.security.tls import Tls, context
from pyspark_zkgroup.zk.auth import TlsHandler
from zkgroup_sandbox.certificates import Certificates


def test_an_answer_that_came_with_another_is_seen_at_once(tmp_path: Path) -> None:
    """The server puts two answers into one record of TLS. The client takes the first; nothing is
    left in the socket for the second to be heard by.
    """
    certificates = Certificates.make(tmp_path)
    tls = Tls(authorities=certificates.ca.read_text())
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asking.load_cert_chain(certificates.server.both)
    near, far = socket.socketpair()
    idle, other = socket.socketpair()
    near.settimeout(10)
    far.settimeout(10)
    client = context(tls).wrap_socket(
        near, server_hostname="localhost", do_handshake_on_connect=False
    )
    server = asking.wrap_socket(far, server_side=True, do_handshake_on_connect=False)
    _shake_hands(client, server)
    handler = TlsHandler(tls)
    with client, server, idle, other:
        server.sendall(b"onetwo")
        client.settimeout(10)
        assert client.recv(3) == b"one"
        assert handler.select([client, idle], [], [], 5.0)[0] == [client]
        other.sendall(b"!")
        assert set(handler.select([client, idle], [], [], 5.0)[0]) == {client, idle}
        assert client.recv(3) == b"two"
        assert handler.select([client, idle], [], [], 0.0)[0] == [idle]


def _shake_hands(client: ssl.SSLSocket, server: ssl.SSLSocket) -> None:
    waiting = [client, server]
    for one in waiting:
        one.settimeout(0.0)
    while waiting:
        for one in list(waiting):
            try:
                one.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            waiting.remove(one)
    # The server's tickets come first: they are no answer to anything.
    client.settimeout(0.0)
    try:
        client.recv(1)
    except ssl.SSLWantReadError:
        server.settimeout(10)
