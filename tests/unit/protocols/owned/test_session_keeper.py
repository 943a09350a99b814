"""What a member says of its sessions."""

from __future__ import annotations

import queue
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.zk.port import DisconnectedError, SessionEvent
from tests.fakes.answering_store import member_of


def keeper_of(*ids: int, lease_s: float = 1.0) -> SessionKeeper:
    """Its sessions have these ids, one after another."""
    left = iter(ids)

    def open_store(_: queue.SimpleQueue[SessionEvent], _former: Collection[int]) -> Any:
        session = SimpleNamespace(
            id=next(left),
            alive=True,
            connected=True,
            close=lambda: None,
            lease_left_s=lambda: lease_s,
        )
        return SimpleNamespace(session=session)

    return SessionKeeper(Agenda(member_of()), open_store)


def test_each_session_is_named_once_as_describe_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    keeper = keeper_of(0x100006FB3C20010, 0x100006FB3C20011)
    with caplog.at_level("INFO", "pyspark_zkgroup.group"):
        keeper.stand()
        keeper.stand()
        keeper.lose()
        keeper.stand()
    assert [m for m in caplog.messages if "Opened session" in m] == [
        "Opened session 0x100006fb3c20010 with ZooKeeper for me of group g",
        "Opened session 0x100006fb3c20011 with ZooKeeper for me of group g",
    ]


def test_a_session_without_a_number_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "pyspark_zkgroup.group"):
        keeper_of(-1).stand()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("lease_s", "said"),
    [
        (1.0, "does not answer (no answer). Continuing with the partitions held for at most 1.0 s"),
        (-7.0, " for at most 0.0 s; the server is down, or this process was suspended"),
    ],
)
def test_a_server_is_not_blamed_alone_if_the_process_may_have_been_suspended(
    lease_s: float, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = keeper_of(1, lease_s=lease_s)
    keeper.stand()
    keeper.note_offline(DisconnectedError("no answer"))
    keeper.note_offline(DisconnectedError("no answer"))
    (message,) = [m for m in caplog.messages if "ZKG-115" in m]
    assert message.endswith(said)


def test_a_wait_in_a_replay_names_the_server_that_does_not_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keeper = keeper_of(1)
    cast(Any, keeper.member.clock).next_of = lambda _events, _seconds: None
    keeper.stand()
    keeper.wait_out(ServerError("No broker answers"), 0.0)
    assert caplog.messages[-1].startswith("[ZKG-002] No broker answers")
    assert keeper.offline_since is None
    keeper.wait_out(DisconnectedError("no answer"), 0.0)
    assert "ZKG-115" in caplog.messages[-1]
    assert keeper.offline_since is not None
