"""What our sessions guarantee, on a real server; and that kazoo's internals are unchanged."""

from __future__ import annotations

import queue
import socket
from collections.abc import Callable, Iterator

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, Done
from pyspark_zkgroup.zk.session import (
    DisconnectedError,
    Session,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)
from tests.contract.ensembles import Ensemble, made
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.cut import Cut

Open = Callable[..., Session]


@pytest.fixture(params=["real", "fake"])
def ensemble(request: pytest.FixtureRequest) -> Iterator[Ensemble]:
    found = made(request, request.param)
    yield found
    found.close()


@pytest.fixture
def opened(zookeeper: Sandbox, chroot: str) -> Iterator[Open]:
    sessions: list[Session] = []

    def make(timeout_ms: int = 2000, where: str = "") -> Session:
        settings = SessionSettings(where or zookeeper.zookeeper_connect, chroot, timeout_ms, 5000)
        session = Session(settings, queue.SimpleQueue())
        sessions.append(session)
        session.open()
        return session

    yield make
    for session in sessions:
        session.close()


def events(session: Session) -> list[str]:
    seen: list[str] = []
    while not session.events.empty():
        event: SessionEvent = session.events.get()
        seen.append(f"{event.kind}{event.path}")
    return seen


def test_an_expired_session_is_over_and_no_other_is_opened(ensemble: Ensemble) -> None:
    session = ensemble.open(2000)
    store, first = ensemble.store(session), session.id
    store.nodes(["/"])
    ensemble.expire(session)
    wait_until(lambda: not session.alive, 10, "the expiry to be noticed")
    with pytest.raises(SessionLostError):
        store.nodes(["/"])
    assert session.id == first
    assert not session.connected
    assert "lost" in events(session)


def test_kazoo_ends_with_its_session(request: pytest.FixtureRequest) -> None:
    real = made(request, "real")
    session = real.open(2000)
    real.expire(session)
    wait_until(lambda: session.client._connection.connection_stopped.is_set(), 10, "kazoo to end")
    assert not session.client.connected
    real.close()


def test_the_lease_counts_from_the_newest_answered_request(ensemble: Ensemble) -> None:
    session = ensemble.open(3000)
    assert session.negotiated_timeout_s == pytest.approx(3.0)
    assert 0 < session.lease_left_s() <= 3.0 * 0.75
    least = session.lease_left_s()

    def renewed() -> bool:
        nonlocal least
        left = session.lease_left_s()
        least = min(left, least)
        return left > least

    # The heartbeat alone renews it.
    wait_until(renewed, 10, "an answered ping")
    ensemble.store(session).sync()
    assert session.lease_left_s() > 2.0


def test_a_silent_server_is_a_disconnection_and_the_lease_runs_out(ensemble: Ensemble) -> None:
    with ensemble.silence(2000) as session:
        with pytest.raises(DisconnectedError):
            ensemble.store(session).sync()
        wait_until(lambda: session.lease_left_s() < 0, 10, "the end of the lease")


def test_a_server_that_is_silent_for_too_long_ends_the_session(ensemble: Ensemble) -> None:
    with ensemble.silence(2000) as session:
        wait_until(lambda: session.lease_left_s() < -2.0, 10, "more than the session's time")
    wait_until(lambda: not session.alive or session.connected, 20, "it to be heard of again")


def test_a_silent_server_is_waited_for_at_length_once_and_again_when_it_was_heard_of(
    zookeeper: Sandbox, opened: Open
) -> None:
    with Cut([zookeeper.zookeepers[0].address]) as cut:
        session = opened(timeout_ms=20_000, where=cut.addresses)
        assert session.request_timeout_s == 5.0
        cut.silence()
        with pytest.raises(DisconnectedError):
            session.ask(session.client.exists_async("/"), timeout_s=0.2)
        assert session.request_timeout_s < 0.5
        with pytest.raises(DisconnectedError):
            session.ask(session.client.exists_async("/"))
        # Its answers arrive late, but count.
        cut.heal()
        wait_until(lambda: session.request_timeout_s == 5.0, 10, "the late answers to be noticed")
        session.ask(session.client.exists_async("/"))


def test_watches_put_events_on_the_queue(ensemble: Ensemble) -> None:
    session, other = ensemble.open(2000), ensemble.store(ensemble.open(2000))
    store = ensemble.store(session)
    other.ensure(["/a"])
    store.children(["/a"], watch=True)
    store.stats(["/missing"], watch=True)
    other.ensure(["/a/b", "/missing"])
    seen: list[str] = []

    def both() -> bool:
        assert session.alive
        seen.extend(events(session))
        return {"changed/a", "changed/missing"} <= set(seen)

    wait_until(both, 10, f"both watches in {seen}")


def test_closing_ends_the_session_on_the_server_and_may_be_done_twice(ensemble: Ensemble) -> None:
    session, other = ensemble.open(20_000), ensemble.open(2000)
    (outcome,) = ensemble.store(session).commit([(Create("/mine", b"", ephemeral=True),)])
    assert isinstance(outcome, Done)
    session.close()
    session.close()
    assert ensemble.store(other).stats(["/mine"]) == [None]


def test_a_session_that_expires_while_it_is_closed_is_freed_behind(opened: Open) -> None:
    session = opened()
    connection = session.client.connection
    session.client._stopped.set()  # as the thread of the connection does when it hears of it
    session.close()
    connection._socket.shutdown(socket.SHUT_RDWR)
    wait_until(connection.connection_closed.is_set, 10, "the connection to be freed")


def test_a_missing_chroot_and_a_missing_server_are_named(zookeeper: Sandbox) -> None:
    missing = SessionSettings(zookeeper.zookeeper_connect, "/no/such", 2000, 2000)
    with pytest.raises(ServerError, match=r"chroot /no/such .* does not exist"):
        Session(missing, queue.SimpleQueue()).open()
    nobody = SessionSettings("127.0.0.1:1", "", 2000, 500)
    with pytest.raises(ServerError, match=r"127.0.0.1:1 did not answer within 500 ms"):
        Session(nobody, queue.SimpleQueue()).open()
