"""One client's route to some servers, which can be cut without touching client or servers.

    with Cut(["127.0.0.1:2181", "127.0.0.1:2182"]) as cut:
        ... a client of cut.addresses, and of nothing else ...
        cut.silence()    # nothing passes, connections stay open: a network that drops packets
        cut.refuse()     # connections are closed and refused: a firewall that answers
        cut.heal()

What was under way when the route fell silent arrives after it is healed, as TCP sends it again: a
request may so reach a server long after it was sent, and the end of a connection that a server has
closed meanwhile is learned then.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from collections.abc import Sequence
from typing import Literal

from zkgroup_sandbox.ports import LOOPBACK, free_ports

State = Literal["open", "silent", "refused"]

PART_BYTES = 64 * 1024
# What one side has sent and the other has not taken yet; more of it is not read.
WAITING_BYTES_MAX = 4 * 1024 * 1024
BACKLOG = 16


class End:
    """One of the two sockets of a connection that passes through."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self.socket = own
        self.waiting = bytearray()
        self.other: End = self


class Waker:
    """Lets another thread end the wait of a selector."""

    def __init__(self) -> None:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)

    def fileno(self) -> int:
        return self._woken

    def wake(self) -> None:
        os.write(self._waker, b".")

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, PART_BYTES)

    def close(self) -> None:
        os.close(self._woken)
        os.close(self._waker)


class Cut:
    """`addresses` has one address for each server, in their order. One thread moves all bytes."""

    def __init__(self, servers: Sequence[str]) -> None:
        ports = free_ports(len(servers))
        self._routes = dict(zip(ports, map(_split, servers), strict=True))
        self.addresses = ",".join(f"{LOOPBACK}:{port}" for port in ports)
        self._wanted: State = "open"
        self._state: State = "refused"
        self._closing = False
        self._changed = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._listeners: dict[socket.socket, tuple[str, int]] = {}
        self._ends: set[End] = set()
        self._waker = Waker()
        self._selector.register(self._waker, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="zkgroup-cut", daemon=True)
        self._thread.start()
        self._become("open")

    def silence(self) -> None:
        self._become("silent")

    def refuse(self) -> None:
        self._become("refused")

    def heal(self) -> None:
        self._become("open")

    def close(self) -> None:
        self._closing = True
        self._waker.wake()
        self._thread.join()
        self._selector.close()
        self._waker.close()

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _become(self, wanted: State) -> None:
        """Returns when it is so."""
        with self._changed:
            self._wanted = wanted
            self._waker.wake()
            self._changed.wait_for(lambda: self._state == wanted or not self._thread.is_alive())

    # -- on the thread

    def _run(self) -> None:
        try:
            while not self._closing:
                self._change()
                for key, events in self._selector.select():
                    self._serve(key, events)
        finally:
            self._refuse()
            with self._changed:
                self._changed.notify_all()

    def _change(self) -> None:
        with self._changed:
            if self._wanted == self._state:
                return
            if self._wanted == "refused":
                self._refuse()
            elif self._wanted == "silent":
                self._listen()
                self._watch_all(watching=False)
            else:
                self._listen()
                self._watch_all(watching=True)
            self._state = self._wanted
            self._changed.notify_all()

    def _listen(self) -> None:
        if self._listeners:
            return
        for port, server in self._routes.items():
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((LOOPBACK, port))
            listener.listen(BACKLOG)
            listener.setblocking(False)
            self._listeners[listener] = server

    def _refuse(self) -> None:
        while self._ends:
            self._drop(next(iter(self._ends)))
        for listener in self._listeners:
            self._forget(listener)
            listener.close()
        self._listeners.clear()

    def _watch_all(self, *, watching: bool) -> None:
        for listener in self._listeners:
            self._forget(listener)
            if watching:
                self._selector.register(listener, selectors.EVENT_READ)
        for end in self._ends:
            self._forget(end.socket)
            if watching:
                self._watch(end)

    def _watch(self, end: End) -> None:
        events = 0
        if len(end.other.waiting) < WAITING_BYTES_MAX:
            events |= selectors.EVENT_READ
        if end.waiting:
            events |= selectors.EVENT_WRITE
        self._forget(end.socket)
        if events:
            self._selector.register(end.socket, events, end)

    def _forget(self, one: socket.socket) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(one)

    def _serve(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj is self._waker:
            self._waker.clear()
        elif isinstance(key.data, End):
            # An earlier one of the same round may have dropped it.
            if key.data in self._ends:
                self._move(key.data, events)
        else:
            assert isinstance(key.fileobj, socket.socket)
            self._accept(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        try:
            client = End(listener.accept()[0])
        except OSError:
            return
        server = End(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        client.other, server.other = server, client
        self._ends |= {client, server}
        for end in (client, server):
            end.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # On the loopback it is done or refused at once; what comes of it shows at the first read.
        server.socket.connect_ex(self._listeners[listener])
        self._watch(client)
        self._watch(server)

    def _move(self, end: End, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                part = end.socket.recv(PART_BYTES)
                if not part:
                    self._drop(end)
                    return
                end.other.waiting += part
            for side in (end, end.other):
                if side.waiting:
                    with contextlib.suppress(BlockingIOError):
                        sent = side.socket.send(side.waiting)
                        del side.waiting[:sent]
        except OSError:
            self._drop(end)
            return
        self._watch(end)
        self._watch(end.other)

    def _drop(self, end: End) -> None:
        for side in (end, end.other):
            self._forget(side.socket)
            side.socket.close()
            self._ends.discard(side)


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
