"""A member with a coordinator: its commands, its answers, and what it claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pyspark_zkgroup.errors import FencedError
from pyspark_zkgroup.group.ops import Create, Delete
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.coordinator.command_channel import CommandChannel
from pyspark_zkgroup.protocols.coordinator.commanded_target import CommandedTarget
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_answer, encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Assigned,
    Command,
    Holding,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.decider import Look
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import Member
from pyspark_zkgroup.protocols.owned.topics_view import Topics
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from pyspark_zkgroup.ranges.positions import StartingOffsets
from pyspark_zkgroup.zk.port import Node
from tests.fakes.brokers import FakeBrokers
from tests.fakes.standing import FakeEnsemble
from tests.fakes.still_clock import StillClock
from tests.harness.given_options import LEAST

PATHS = CoordinatedPaths("billing")
ME = "billing_me"
P = [TopicPartition("orders", n) for n in range(2)]
TOPICS = {"orders": (0, 1)}
G1, G2 = Generation(1, 1), Generation(1, 2)


class Scene:
    """A registered member; its commands are nodes."""

    def __init__(self, *, watches: bool = True) -> None:
        self.ensemble = FakeEnsemble()
        self.store = self.ensemble.store(self.ensemble.open(5000, ""))
        clock: Any = StillClock()
        member = Member(PATHS, ME, False, Holdings(), clock, RebalanceCallback())
        self.context = member.on(self.store)
        self.channel = CommandChannel(PATHS)
        brokers: Any = FakeBrokers({"orders": 2})
        self.target = CommandedTarget(
            parse({**LEAST, "protocol": "coordinator"}),
            Agenda(member),
            FirstOffsets(StartingOffsets("earliest"), brokers, Losses(str, fail=True)),
            self.channel,
            lambda _context: Topics(TOPICS, "kafka"),
            watches,
        )
        self.channel.prepare(self.context)
        self.store.ensure([PATHS.ids, PATHS.owner_topic("orders"), PATHS.offset_topic("orders")])
        self.store.commit([(Create(PATHS.id(ME), b"", ephemeral=True),)])
        self.channel.begin(self.context)
        self._number = 0

    @property
    def life(self) -> int:
        return self.channel.orders.life

    def command(self, *commands: Command) -> None:
        for command in commands:
            self._number += 1
            path = PATHS.command(ME, f"{self._number:010}")
            self.store.commit([(Create(path, encode(command)),)])

    def commands(self) -> int:
        (listed,) = self.store.children([PATHS.channel(ME)])
        return len(listed.names) if listed else 0

    def answers(self) -> list[Answer]:
        (listed,) = self.store.children([PATHS.answers])
        paths = [f"{PATHS.answers}/{name}" for name in sorted(listed.names if listed else ())]
        return [decode_answer(p, n.data) for p, n in zip(paths, self.store.nodes(paths)) if n]

    def own_from_elsewhere(self, *partitions: TopicPartition) -> None:
        other = self.ensemble.store(self.ensemble.open(5000, ""))
        other.commit(
            [(Create(PATHS.owner(p), b"billing_other-0", ephemeral=True),) for p in partitions]
        )


def test_a_member_without_a_start_still_answers_its_coordinator() -> None:
    scene = Scene()
    scene.command(Ping(G1, scene.life))
    assert scene.target.look(scene.context) is Look.UNDECIDED
    assert scene.answers() == [Holding(G1, scene.life)]
    assert scene.commands() == 0
    outlook = scene.target.outlook(None)
    assert not outlook.settled
    assert outlook.expected == "no coordinator has told this member yet what to read"


def test_commands_to_another_life_are_deleted_without_an_answer() -> None:
    scene = Scene()
    scene.command(Stop(G1, scene.life + 1, frozenset(P)), Start(G2, scene.life, {}, TOPICS))
    assert scene.target.look(scene.context) is Look.DECIDED
    scene.target.move(scene.context, {})
    assert scene.answers() == [Started(G2, scene.life)]
    assert scene.commands() == 0


def test_a_command_that_cannot_be_read_stops_no_other() -> None:
    scene = Scene()
    scene.store.commit([(Create(PATHS.command(ME, "0000000000"), b"rubbish"),)])
    scene.command(Start(G1, scene.life, {P[0]: Assigned(0)}, TOPICS))
    assert scene.target.look(scene.context) is Look.DECIDED
    assert set(scene.target.target) == {P[0]}


def test_a_stop_is_answered_with_the_positions_of_what_was_released() -> None:
    scene = Scene()
    scene.command(Start(G1, scene.life, {P[0]: Assigned(0), P[1]: Assigned(0)}, TOPICS))
    scene.target.look(scene.context)
    scene.target.move(scene.context, scene.channel.orders.share)
    assert set(scene.context.holdings.held) == set(P)
    scene.command(Stop(G2, scene.life, frozenset({P[1]})))
    assert scene.target.look(scene.context) is Look.DECIDED
    scene.target.move(scene.context, scene.channel.orders.share)
    assert set(scene.context.holdings.held) == {P[0]}
    assert Stopped(G2, scene.life, {P[1]: 0}) in scene.answers()


def test_a_member_whose_name_is_registered_in_another_session_is_fenced() -> None:
    scene = Scene()
    other = scene.ensemble.store(scene.ensemble.open(5000, ""))
    other.commit([(Delete(PATHS.id(ME), -1),), (Create(PATHS.id(ME), b"", ephemeral=True),)])
    with pytest.raises(FencedError, match="in the hands of another session"):
        scene.target.look(scene.context)


def test_a_channel_that_was_removed_is_made_again() -> None:
    scene = Scene()
    scene.target.agenda.take_causes()
    scene.target.look(scene.context)
    assert scene.target.agenda.take_causes() == []
    scene.store.commit([(Delete(PATHS.channel(ME), -1),)])
    assert scene.target.look(scene.context) is Look.UNDECIDED
    assert scene.store.stats([PATHS.channel(ME)]) != [None]
    assert scene.target.agenda.take_causes() == []
    scene.command(Start(G1, scene.life, {}, TOPICS))
    assert scene.target.look(scene.context) is Look.DECIDED


def test_a_look_after_its_own_answer_alone_reads_no_registration() -> None:
    """The deletion of an answered command fires the watch on the channel."""
    scene = Scene()
    scene.command(Start(G1, scene.life, {}, TOPICS))
    scene.target.look(scene.context)
    before = scene.channel.echo
    scene.target.move(scene.context, {})
    scene.channel.listen(scene.context)
    after_answer = scene.channel.echo
    scene.command(Ping(G2, scene.life))
    scene.channel.listen(scene.context)
    assert (before, after_answer, scene.channel.echo) == (False, True, False)


def test_a_member_without_its_registration_says_so() -> None:
    scene = Scene()
    scene.store.commit([(Delete(PATHS.id(ME), -1),)])
    assert scene.target.look(scene.context) is Look.UNREGISTERED


@pytest.mark.parametrize(
    ("watches", "goes", "again"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_an_owner_that_goes_before_its_watch_is_armed_is_looked_at_again(
    watches: bool, goes: bool, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(watches=watches)
    scene.own_from_elsewhere(*P)
    plain = scene.store.stats

    def stats(paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        if goes and watch and PATHS.owner(P[1]) in paths:
            scene.store.commit([(Delete(PATHS.owner(P[1]), -1),)])
        return plain(paths, watch=watch)

    monkeypatch.setattr(scene.store, "stats", stats)
    scene.command(Start(G1, scene.life, {p: Assigned(0) for p in P}, TOPICS))
    scene.target.look(scene.context)
    moved = scene.target.move(scene.context, scene.channel.orders.share)
    assert set(moved.waiting) == set(P)
    assert moved.again is again
