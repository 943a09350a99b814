"""The ZooKeeper that the contract suites need: a real one, and the fake of the simulation."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pytest

from pyspark_zkgroup.zk.session import Session, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.fakes.standing import FakeEnsemble
from zkgroup_sandbox import Sandbox


class Ensemble(Protocol):
    def open(self, timeout_ms: int) -> Session:
        """Open a session below a chroot of this test alone."""

    def store(self, session: Session) -> Store: ...

    def expire(self, session: Session) -> None:
        """End the session at the server, without the client."""

    def silence(self, timeout_ms: int) -> AbstractContextManager[Session]:
        """Return a session, with a node /p, whose server does not answer inside the context."""

    def close(self) -> None: ...


class RealEnsemble:
    def __init__(self, sandbox: Sandbox, chroot: str, new_sandbox: Callable[..., Sandbox]) -> None:
        self.sandbox = sandbox
        self.chroot = chroot
        self.new_sandbox = new_sandbox
        self.sessions: list[Session] = []

    def open(self, timeout_ms: int) -> Session:
        return self._open(self.sandbox.zookeeper_connect, self.chroot, timeout_ms)

    def _open(self, connect: str, chroot: str, timeout_ms: int) -> Session:
        session = Session(SessionSettings(connect, chroot, timeout_ms, 5000), queue.SimpleQueue())
        self.sessions.append(session)
        session.open()
        return session

    def store(self, session: Session) -> Store:
        return Store(session)

    def expire(self, session: Session) -> None:
        client_id = session.client.client_id
        assert client_id is not None
        self.sandbox.expire_session(*client_id)

    @contextmanager
    def silence(self, timeout_ms: int) -> Iterator[Session]:
        sandbox = self.new_sandbox(brokers=0)
        session = self._open(sandbox.zookeeper_connect, "", timeout_ms)
        Store(session).ensure(["/p"])
        sandbox.zookeepers[0].pause()
        try:
            yield session
        finally:
            sandbox.zookeepers[0].resume()

    def close(self) -> None:
        for session in self.sessions:
            session.close()


class FakedEnsemble:
    def __init__(self) -> None:
        self.fake = FakeEnsemble()
        self.fake.server.make("/test")

    def open(self, timeout_ms: int) -> Session:
        return self.fake.open(timeout_ms, "/test")

    def store(self, session: Session) -> Store:
        return self.fake.store(session)  # type: ignore[arg-type]

    def expire(self, session: Session) -> None:
        session.expire()  # type: ignore[attr-defined]

    @contextmanager
    def silence(self, timeout_ms: int) -> Iterator[Session]:
        session = self.open(timeout_ms)
        self.store(session).ensure(["/p"])
        access = self.fake.access[session.id]
        access.set_way("silent")
        try:
            yield session
        finally:
            access.set_way("up")

    def close(self) -> None:
        """Remove everything that belongs to the test."""


def made(request: pytest.FixtureRequest, kind: str) -> Ensemble:
    """Make an ensemble. The fake needs no server, so none is started for it."""
    if kind == "fake":
        return FakedEnsemble()
    asked = request.getfixturevalue
    return RealEnsemble(asked("zookeeper"), asked("chroot"), asked("new_sandbox"))
