"""A light member's answers to its commands."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Assigned,
    Command,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.light.rules.messages import Told
from pyspark_zkgroup.protocols.light.stream_channel import StreamChannel
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import MemberContext

P = TopicPartition("t", 0)
G1, G2 = Generation(1, 1), Generation(1, 2)
LIFE = 7


class Scene:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        session = SimpleNamespace(commands=self.commands, say=self.said.append)
        self.holdings = Holdings()
        context: Any = SimpleNamespace(
            session=LIFE, holdings=self.holdings, store=SimpleNamespace(session=session)
        )
        self.context: MemberContext = context
        self.channel = StreamChannel()
        self.channel.begin(context)

    def answers(self, *commands: Command) -> list[Any]:
        """Return the answers at a boundary at which these commands have come."""
        self.said.clear()
        for command in commands:
            self.commands.put(command)
        self.channel.obey(self.context)
        self.channel.answer(self.context)
        assert all(isinstance(message, Told) for message in self.said)
        return [message.answer for message in self.said]


def test_a_stop_is_answered_at_the_boundary_at_which_its_partitions_are_released() -> None:
    scene = Scene()
    assert scene.answers(Start(G1, LIFE, {P: Assigned(0)})) == [Started(G1, LIFE)]
    scene.holdings.held[P] = Held(0, 1)
    scene.holdings.known[P] = Known(NodeVersion(7, 2), 9, 9)
    assert scene.answers(Stop(G2, LIFE, frozenset({P}))) == []
    assert scene.channel.orders.share == {}
    assert scene.answers() == []
    del scene.holdings.held[P]
    assert scene.answers() == [Stopped(G2, LIFE, {P: 9})]
    assert scene.answers() == []


def test_a_command_that_comes_twice_is_answered_once_a_boundary() -> None:
    scene = Scene()
    start = Start(G1, LIFE)
    assert scene.answers(start, start) == [Started(G1, LIFE)]
    assert scene.answers(start) == [Started(G1, LIFE)]


def test_a_command_to_another_life_is_not_answered() -> None:
    scene = Scene()
    assert scene.answers(Start(G1, LIFE + 1), Start(G2, LIFE)) == [Started(G2, LIFE)]
    scene.channel.live(LIFE + 1)
    assert scene.channel.orders.start is None
    assert scene.answers() == []
