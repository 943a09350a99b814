"""The socket of a broker in this process: each connection is served on a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

HOST = "127.0.0.1"


class BrokerSocket:
    """`serve` gets each connection with its number, counted from 1."""

    def __init__(self, serve: Callable[[socket.socket, int], None]) -> None:
        self._serve = serve
        self._server = socket.create_server((HOST, 0))
        self._connections: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._accepting.join()
        self.drop_connections()

    def drop_connections(self) -> None:
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            number += 1
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()


def receive(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return bytes(found)
