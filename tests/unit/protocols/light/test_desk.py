"""A coordinator's desk: the lives of light members, their streams and their commands."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.claim import claim_request
from pyspark_zkgroup.group.ops import Check, Create, Delete, Done, NodeVersion, SetData
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.group.paths import COORDINATED, CoordinatedPaths
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Command,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.light.conversation import Outbox
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.nodes import read_light
from pyspark_zkgroup.protocols.light.rules import identity, messages
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Commit,
    Executed,
    Failed,
    Hello,
    Register,
    Registered,
    Rejected,
    Tell,
    Told,
    ToMember,
)
from pyspark_zkgroup.threads import SYSTEM_THREADS
from tests.fakes.standing import FakeEnsemble
from tests.fakes.still_clock import StillClock

PATHS = CoordinatedPaths("g")
P, Q = TopicPartition("t", 0), TopicPartition("u", 0)
G1, G2 = Generation(1, 1), Generation(1, 2)
TIMEOUT_S = 6.0


class Stream:
    """A member's end of its stream."""

    def __init__(self, desk: LightDesk, hello: Hello) -> None:
        self.hello = hello
        self.outbox = Outbox()
        self.seat = desk.greet(hello, self.outbox, Caller())

    def received(self) -> list[ToMember]:
        found: list[ToMember] = []
        waiting = cast(Any, self.outbox)._messages
        while not waiting.empty():
            message = waiting.get()
            if message is not None:
                found.append(message)
        return found

    def commands(self) -> list[Command]:
        return [m.command for m in self.received() if isinstance(m, Tell)]

    def say(self, message: Any) -> Any:
        """Return the last message that was received after this one."""
        self.received()
        assert self.seat is not None
        self.seat.take(message)
        received = self.received()
        return received[-1] if received else None

    def register(
        self, *, static: bool = False, evidence: Mapping[TopicPartition, NodeVersion] | None = None
    ) -> Any:
        shown = identity.shown(self.hello.group, self.hello.consumer, self.hello.incarnation)
        registration = Registration(
            Subscription.static({"t": 1}),
            "5",
            strategy="sticky",
            static_id=static,
            light=LightSeat(shown, self.hello.timeout_ms),
        )
        data = encode_registration(registration)
        return self.say(Register(1, data, static, evidence or {}))

    def leave(self) -> None:
        assert self.seat is not None
        self.seat.end()


class Scene:
    def __init__(self, clock: StillClock | None = None, threads: Any = SYSTEM_THREADS) -> None:
        ensemble = FakeEnsemble()
        self.store = ensemble.store(ensemble.open(5000, ""))
        self.store.ensure([COORDINATED, PATHS.ids])
        self.store.ensure([f(t) for t in "tu" for f in (PATHS.owner_topic, PATHS.offset_topic)])
        self.clock = clock or StillClock()
        self.wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.desk = LightDesk(("b1:9092",), clock=cast(Any, self.clock), threads=threads)
        self.desk.begin(self.store, 1, lambda: self.wakes.put(None))

    def stream(self, consumer: str = "g_a", process: str = "x") -> Stream:
        return Stream(self.desk, Hello("g", consumer, process * 32, int(TIMEOUT_S * 1000)))

    def registered(self, consumer: str = "g_a", process: str = "x", **given: Any) -> Stream:
        found = self.stream(consumer, process)
        assert isinstance(found.register(**given), Registered)
        return found

    def generation(self, consumer: str = "g_a") -> str:
        found = read_light(self.store, PATHS, consumer)
        assert found is not None
        return found.seat.generation

    def nodes(self) -> set[str]:
        (ids,) = self.store.children([PATHS.ids])
        return set(ids.names) if ids else set()


@pytest.fixture
def scene() -> Iterator[Scene]:
    found = Scene()
    yield found
    found.desk.end()


def life_of(stream: Stream) -> int:
    assert stream.seat is not None
    return stream.seat.life


def test_a_full_desk_invites_to_come_again(scene: Scene) -> None:
    scene.desk.members_max = 2
    scene.desk.group_members_max = 1
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
    assert (desk.group_members_max, desk.members_max) == (500, 1000)


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
    assert scene.desk.lives("g") == {"g_b": 40}
    assert scene.desk.due_in_s() == 3.0
    scene.clock.now += 3.0
    assert scene.desk.expire()
    assert scene.desk.lives("g") == {}


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


def claim(scene: Scene, stream: Stream, partition: TopicPartition = P) -> NodeVersion:
    """Return the version of the offset node: the fence of what the member plans."""
    offset = PATHS.offset(partition)
    scene.store.commit([(Create(offset, b"5"),)])
    (node,) = scene.store.nodes([offset])
    assert node is not None
    thread = ThreadId(stream.hello.consumer, 0)
    request = claim_request(PATHS, partition, thread, OffsetRead(b"5", node.node), 5)
    answer = stream.say(Commit(2, (request,)))
    assert isinstance(answer, Executed)
    assert isinstance(answer.outcomes[0], Done)
    (node,) = scene.store.nodes([offset])
    assert node is not None
    return node.node


def test_a_commit_of_what_it_has_claimed_costs_a_member_one_request(scene: Scene) -> None:
    stream = scene.registered()
    fence = claim(scene, stream)
    # Neither a proof nor a refused release changes what it owns.
    proof = (Check(PATHS.owner(P), 1), Check(PATHS.offset(P), fence.version))
    refused = (Delete(PATHS.owner(P), 7),)
    answer = stream.say(Commit(3, (proof, refused)))
    assert isinstance(answer, Executed)
    assert [isinstance(outcome, Done) for outcome in answer.outcomes] == [True, False]
    before = scene.store.requests
    commit = SetData(PATHS.offset(P), b"9", fence.version)
    answer = stream.say(Commit(4, ((commit,),)))
    assert isinstance(answer, Executed)
    assert isinstance(answer.outcomes[0], Done)
    assert scene.store.requests == before + 1


def test_a_restart_of_a_static_member_succeeds_by_the_fence_of_one_partition(
    scene: Scene,
) -> None:
    first = scene.registered(static=True)
    fence = claim(scene, first)
    first.leave()
    stale = NodeVersion(fence.czxid, fence.version + 1)
    second = scene.stream(process="y")
    for evidence in ({}, {P: stale}, {Q: fence}, {TopicPartition("not/legal", 0): fence}):
        answer = second.register(static=True, evidence=evidence)
        assert isinstance(answer, Failed)
        assert answer.why == "taken"
    evidence = {P: fence, Q: fence, TopicPartition("not/legal", 0): fence}
    assert isinstance(second.register(static=True, evidence=evidence), Registered)


def test_a_member_of_another_process_without_a_member_id_is_refused(scene: Scene) -> None:
    first = scene.registered()
    fence = claim(scene, first)
    first.leave()
    answer = scene.stream(process="y").register(evidence={P: fence})
    assert isinstance(answer, Failed)
    assert answer.why == "taken"


def test_the_same_process_is_accepted_again_under_its_life(scene: Scene) -> None:
    life = life_of(scene.registered())
    (accepted,) = scene.stream().received()
    assert accepted == Accepted(1, life, ("b1:9092",))
    (stranger,) = scene.stream(process="y").received()
    assert stranger == Accepted(1, 0, ("b1:9092",))
