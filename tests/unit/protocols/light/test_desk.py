"""A coordinator's desk: the lives of light members, their streams and their commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.ops import Create, Delete, SetData
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.limits import Limits
from pyspark_zkgroup.protocols.light.rules import messages
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Executed,
    Read,
    Rejected,
    Told,
)
from tests.fakes.still_clock import StillClock
from tests.unit.protocols.light.desk_scene import (
    G1,
    G2,
    PATHS,
    TIMEOUT_S,
    P,
    Q,
    Scene,
    life_of,
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    found = Scene()
    yield found
    found.desk.end()


def test_a_full_desk_invites_to_come_again(scene: Scene) -> None:
    scene.desk.limits = Limits(members=2, of_group=1)
    scene.stream()
    of_group = scene.stream("g_b")
    assert of_group.seat is None
    (refused,) = of_group.received()
    assert isinstance(refused, Rejected)
    assert refused.retriable
    assert "1 a group" in refused.reason
    assert of_group.outbox.closed.is_set()


def test_a_desk_serves_at_most_500_members_of_a_group_and_1000_of_all() -> None:
    desk = LightDesk()
    assert (desk.limits.of_group, desk.limits.members) == (500, 1000)


class PausedClock(StillClock):
    """Calls `then` in the 29th pause, and allows one more after that."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses = 0
        self.then: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.pauses += 1
        assert self.pauses <= 30
        if self.pauses == 29:
            self.then()


def test_a_term_of_office_pings_its_members_until_it_ends() -> None:
    begun: list[Callable[[], None]] = []
    threads = SimpleNamespace(start=lambda run, _name: begun.append(run), gate=threading.Lock)
    clock = PausedClock()
    scene = Scene(clock, threads)
    clock.then = scene.desk.end
    scene.desk.is_served = True
    scene.desk.begin(scene.store, 1, lambda: None)
    stream = scene.registered()
    (beat,) = begun
    beat()
    pings = [message for message in stream.received() if isinstance(message, messages.Ping)]
    assert [ping.number for ping in pings] == [1, 2, 3]
    assert stream.outbox.closed.is_set()


def test_the_registration_has_the_generation_that_the_member_has_obeyed(scene: Scene) -> None:
    stream = scene.registered()
    life = life_of(stream)
    assert scene.generation() == "1.0"
    stream.say(Told(Started(G2, life + 1)))
    stream.say(Told(Stopped(G2, life)))
    assert scene.generation() == "1.0"
    stream.say(Told(Started(G2, life)))
    assert scene.generation() == "1.2"


def test_a_command_is_sent_again_on_each_stream_until_it_is_answered(scene: Scene) -> None:
    stream = scene.registered()
    life = life_of(stream)
    first, second = Stop(G1, life, frozenset({P})), Stop(G2, life, frozenset({Q}))
    start = Start(G1, life)
    for command in (first, second, start):
        assert scene.desk.tell("g", "g_a", command)
    assert stream.commands() == [first, second, start]
    stream.say(Told(Stopped(G1, life)))
    assert scene.wakes.qsize() == 1
    assert scene.desk.answers.get().answer == Stopped(G1, life)
    again = scene.stream()
    assert again.commands() == [second, start]
    again.say(Told(Stopped(G2, life)))
    again.say(Told(Started(G1, life)))
    assert scene.stream().commands() == []


def test_a_newer_start_replaces_an_older_one_and_nothing_else(scene: Scene) -> None:
    life = life_of(scene.registered())
    ping = Ping(G1, life)
    for command, waiting in (
        (Start(G1, life), [Start(G1, life)]),
        (ping, [Start(G1, life), ping]),
        (Start(G2, life), [ping, Start(G2, life)]),
        (Start(G1, life), [ping, Start(G1, life)]),
    ):
        scene.desk.tell("g", "g_a", command)
        assert scene.stream().commands() == waiting


def test_an_answer_of_another_life_is_none(scene: Scene) -> None:
    stream = scene.registered()
    stream.say(Told(Started(G1, life_of(stream) + 1)))
    assert scene.desk.answers.empty()


def test_a_silent_member_ends_with_all_its_nodes(scene: Scene) -> None:
    stream = scene.registered()
    scene.clock.now += TIMEOUT_S - 1.0
    stream.say(Told(Started(G1, life_of(stream))))
    scene.clock.now += TIMEOUT_S - 0.1
    assert scene.desk.due_in_s() == pytest.approx(0.1)
    assert not scene.desk.expire()
    scene.clock.now += 0.1
    assert scene.desk.expire()
    assert scene.nodes() == set()
    assert not scene.desk.expire()


def test_a_coordinator_whose_session_may_be_over_hears_no_member(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped. Its session ended, its successor has given away what the member held, and in
    its socket wait requests of the member that were sent meanwhile.
    """
    stream = scene.registered()
    lease = [0.1]
    monkeypatch.setattr(scene.store.session, "lease_left_s", lambda: lease[0])
    assert isinstance(stream.say(Read(2, "sync", ())), Executed)
    lease[0] = 0.0
    assert stream.say(Read(3, "sync", ())) is None
    lease[0] = 0.1
    assert isinstance(stream.say(Read(4, "sync", ())), Executed)


def test_an_ended_life_is_remembered_while_its_registration_may_be_read(scene: Scene) -> None:
    """A command to it is not for another channel; later looks no longer show it."""
    stream = scene.registered()
    command = Start(G1, life_of(stream))
    scene.clock.now += TIMEOUT_S
    scene.desk.expire()
    assert scene.desk.tell("g", "g_a", command)
    scene.desk.note("g", {})
    assert scene.desk.tell("g", "g_a", command), "its stream may still be about to end"
    stream.leave()
    scene.desk.note("h", {})
    assert scene.desk.tell("g", "g_a", command)
    scene.desk.note("g", {})
    assert not scene.desk.tell("g", "g_a", command)


def test_a_registration_found_in_a_look_has_its_timeout_from_then_on(scene: Scene) -> None:
    scene.desk.note("g", {"g_b": (40, 3.0)})
    assert scene.desk.members.lives("g") == {"g_b": 40}
    assert scene.desk.due_in_s() == 3.0
    scene.clock.now += 3.0
    assert scene.desk.expire()
    assert scene.desk.members.lives("g") == {}


def test_what_a_light_member_left_without_a_registration_is_deleted(scene: Scene) -> None:
    owner = PATHS.owner(P)
    scene.store.commit([(Create(owner, b"g_gone-0"), SetData(owner, b"g_gone-0", 0))])
    term = Term(scene.store, 1, 0, lambda: {"t": (0,)}, 60.0, cast(Any, scene.clock), scene.desk)
    while term.work():
        pass
    assert scene.store.nodes([owner]) != [None]
    scene.clock.now += 10.0
    while term.work():
        pass
    assert scene.store.nodes([owner]) == [None]


def test_the_same_process_is_accepted_again_under_its_life(scene: Scene) -> None:
    life = life_of(scene.registered())
    (accepted,) = scene.stream().received()
    assert accepted == Accepted(1, life, ("b1:9092",))
    (stranger,) = scene.stream(process="y").received()
    assert stranger == Accepted(1, 0, ("b1:9092",))


def test_before_it_registers_a_member_makes_nodes_of_owners_where_offsets_are(scene: Scene) -> None:
    """It settles what it finished before; of other topics it has nothing to write."""
    known, unknown = PATHS.owner_topic("t"), PATHS.owner_topic("v")
    scene.store.commit([(Delete(known, 0),)])
    stream = scene.stream()
    assert isinstance(stream.say(Read(1, "ensure", (known, unknown))), Executed)
    made, missing = scene.store.nodes([known, unknown])
    assert (made is not None, missing) == (True, None)
