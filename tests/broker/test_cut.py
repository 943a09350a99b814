"""A route between a client and its server that falls silent, is refused, and is healed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.harness.waiting import wait_until
from zkgroup_sandbox.cut import Cut


@pytest.fixture
def echo() -> Iterator[str]:
    """A server that sends back what it gets."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def answer(one: socket.socket) -> None:
        try:
            while part := one.recv(65536):
                one.sendall(part)
        except OSError:
            return

    def serve() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            connections.append(one)
            threading.Thread(target=answer, args=(one,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    host, port = listener.getsockname()
    yield f"{host}:{port}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for one in connections:
        one.close()
    thread.join()


def connected(cut: Cut, timeout_s: float = 5.0) -> socket.socket:
    host, port = cut.addresses.split(":")
    return socket.create_connection((host, int(port)), timeout_s)


def said(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    received = b""
    while len(received) < len(text):
        received += client.recv(65536)
    return received


def test_bytes_pass_both_ways(echo: str) -> None:
    with Cut([echo]) as cut, connected(cut) as client:
        assert said(client, b"hello") == b"hello"
        much = bytes(range(256)) * 4096
        assert said(client, much) == much


def test_on_a_silent_route_nothing_passes_until_it_is_healed(echo: str) -> None:
    with Cut([echo]) as cut, connected(cut) as client:
        assert said(client, b"before") == b"before"
        cut.silence()
        client.sendall(b"meanwhile")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        cut.heal()
        client.settimeout(5.0)
        assert client.recv(65536) == b"meanwhile"
        assert said(client, b"after") == b"after"


def test_on_a_silent_route_a_newcomer_connects_and_hears_nothing(echo: str) -> None:
    with Cut([echo]) as cut:
        cut.silence()
        with connected(cut) as client:
            client.sendall(b"hello")
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(1)
            cut.heal()
            client.settimeout(5.0)
            assert client.recv(65536) == b"hello"


def test_a_refused_route_closes_what_is_open_and_admits_no_client(echo: str) -> None:
    with Cut([echo]) as cut:
        with connected(cut) as client:
            assert said(client, b"before") == b"before"
            cut.refuse()
            with pytest.raises(ConnectionError):
                connected(cut)
            assert_closed(client)
        cut.heal()
        with connected(cut) as client:
            assert said(client, b"again") == b"again"


def test_each_server_has_its_own_address(echo: str) -> None:
    with Cut([echo, echo]) as cut:
        assert len(set(cut.addresses.split(","))) == 2


def test_a_server_that_is_gone_ends_the_connection(echo: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        host, port = free.getsockname()
    with Cut([f"{host}:{port}"]) as cut, connected(cut) as client:
        assert_closed(client)


def assert_closed(client: socket.socket) -> None:
    def closed() -> bool:
        try:
            return client.recv(1) == b""
        except ConnectionError:
            return True

    wait_until(closed, 5.0, "the connection to be closed")
