"""What a light member's hello and life prove, and the pings that its coordinator sends it."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.protocols.light.beat import Beat
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.lease import beat_every_s
from pyspark_zkgroup.protocols.light.rules.messages import Hello, Ping, Pong
from pyspark_zkgroup.zk.port import Node

LIFE = 10


def client(consumer: str = "g_a", process: str = "x") -> Client:
    return Client(Hello("g", consumer, process * 32, 6000), Caller())


@pytest.mark.parametrize(
    ("data", "czxid", "session", "is_static", "expected"),
    [
        (b"g_a-0", LIFE + 1, 0, False, True),
        (b"g_b-0", LIFE + 1, 0, False, False),
        (b"g_a-0", LIFE + 1, 7, False, False),
        (b"g_a-0", LIFE - 1, 0, False, False),
        (b"g_a-0", LIFE - 1, 0, True, True),
    ],
)
def test_a_member_owns_what_its_life_made_and_a_static_one_what_its_name_made(
    data: bytes, czxid: int, session: int, is_static: bool, expected: bool
) -> None:
    found = client()
    found.is_static = is_static
    node = Node(data, NodeVersion(czxid, 0), session, 0)
    assert not found.owns(node), "it has not registered"
    found.life = LIFE
    assert found.owns(node) is expected


def test_a_process_is_known_by_its_name_and_its_secret() -> None:
    assert client().is_same_process(client())
    assert not client().is_same_process(client(process="y"))
    assert not client().is_same_process(client("g_b"))


def test_a_ping_acknowledges_the_newest_answer() -> None:
    beat = Beat(6.0)
    assert beat.due(0.0) == Ping(1, 0)
    assert beat.due(beat_every_s(6.0) - 0.01) is None
    for number in (1, 0):
        beat.heard(Pong(number))
    assert beat.due(beat_every_s(6.0)) == Ping(2, 1)
