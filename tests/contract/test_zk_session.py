"""What our sessions promise, on a real server. Also: that kazoo's inner methods are still as they
were.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.sandbox import Sandbox
from pyspark_zkgroup.zk.session import (
    DisconnectedError,
    Session,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)
from pyspark_zkgroup.zk.store import Store
from tests.waiting import wait_until

Open = Callable[..., Session]


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


def expire(zookeeper: Sandbox, session: Session) -> None:
    client_id = session.client.client_id
    assert client_id is not None
    zookeeper.expire_session(*client_id)


def test_an_expired_session_is_over_and_no_other_is_opened(
    zookeeper: Sandbox, opened: Open
) -> None:
    session = opened()
    store, first = Store(session), session.id
    store.nodes(["/"])
    expire(zookeeper, session)
    wait_until(lambda: not session.alive, 10, "the expiry to be noticed")
    with pytest.raises(SessionLostError):
        store.nodes(["/"])
    wait_until(lambda: session.client._connection.connection_stopped.is_set(), 10, "kazoo to end")
    assert session.id == first
    assert not session.client.connected
    assert "lost" in events(session)


def test_the_lease_counts_from_the_newest_answered_request(opened: Open) -> None:
    session = opened(timeout_ms=3000)
    assert session.negotiated_timeout_s == pytest.approx(3.0)
    assert 0 < session.lease_left_s() <= 3.0 * 0.75
    before = session.client.connection.proved_at
    # The heartbeat alone renews it.
    wait_until(lambda: session.client.connection.proved_at > before, 10, "an answered ping")
    Store(session).sync()
    assert session.lease_left_s() > 2.0


def test_a_silent_server_is_a_disconnection_and_the_lease_runs_out(
    new_sandbox: Callable[..., Sandbox],
) -> None:
    sandbox = new_sandbox(brokers=0)
    session = Session(
        SessionSettings(sandbox.zookeeper_connect, "", 2000, 5000), queue.SimpleQueue()
    )
    session.open()
    sandbox.zookeepers[0].pause()
    try:
        with pytest.raises(DisconnectedError):
            Store(session).sync()
        wait_until(lambda: session.lease_left_s() < 0, 10, "the end of the lease")
    finally:
        sandbox.zookeepers[0].resume()
        session.close()


def test_watches_put_events_on_the_queue(opened: Open) -> None:
    session, other = opened(), opened()
    store = Store(session)
    Store(other).ensure(["/a"])
    store.children(["/a"], watch=True)
    store.stats(["/missing"], watch=True)
    Store(other).ensure(["/a/b", "/missing"])
    seen: list[str] = []

    def both() -> bool:
        seen.extend(events(session))
        return {"changed/a", "changed/missing"} <= set(seen)

    wait_until(both, 10, f"both watches in {seen}")


def test_closing_ends_the_session_on_the_server_and_may_be_done_twice(opened: Open) -> None:
    from pyspark_zkgroup.group.ops import Create, Done

    session, other = opened(timeout_ms=20000), opened()
    (made,) = Store(session).commit([(Create("/mine", b"", ephemeral=True),)])
    assert isinstance(made, Done)
    session.close()
    session.close()
    assert Store(other).stats(["/mine"]) == [None]


def test_a_missing_chroot_and_a_missing_server_are_named(zookeeper: Sandbox) -> None:
    missing = SessionSettings(zookeeper.zookeeper_connect, "/no/such", 2000, 2000)
    with pytest.raises(ServerError, match=r"chroot /no/such .* does not exist"):
        Session(missing, queue.SimpleQueue()).open()
    nobody = SessionSettings("127.0.0.1:1", "", 2000, 500)
    with pytest.raises(ServerError, match=r"127.0.0.1:1 did not answer within 500 ms"):
        Session(nobody, queue.SimpleQueue()).open()
