"""A candidate: its sessions, its election, and what ends its office."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, Delete, SetData
from pyspark_zkgroup.group.paths import COORDINATED, COORDINATOR, CoordinatedPaths
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.zk.port import SessionEvent, SessionSettings
from tests.fakes.session import Access
from tests.fakes.standing import FakeEnsemble, LookedAtSession
from tests.fakes.still_clock import StillClock
from tests.fakes.store import FakeStore

SETTINGS = SessionSettings("fake:2181", "", 5000, 5000)
ME = Candidacy("one", "one:7000")


class Waits(StillClock):
    """Does the next of `actions` at each wait, and keeps how long it would have been."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[Callable[[], object]] = []
        self.waited_s: list[float] = []

    def time(self) -> float:
        return self.now

    def next_of(self, events: queue.SimpleQueue[Any], timeout_s: float) -> Any:
        if events.empty():
            self.waited_s.append(timeout_s)
            self.actions.pop(0)()
        return None if events.empty() else events.get()


class Scene:
    def __init__(self) -> None:
        self.clock = Waits()
        self.ensemble = FakeEnsemble()
        self.fails: list[Exception] = []
        self.sessions: list[LookedAtSession] = []
        self.other = self.ensemble.store(self.ensemble.open(5000, ""))
        self.closed = 0
        self.candidate = Candidate(
            SETTINGS,
            ME,
            LightDesk(clock=self.clock),
            Watching(lambda: {"t": (0,)}, 60.0, self._note_close),
            Environment(clock=self.clock, open_store=self._open),
        )

    def _note_close(self) -> None:
        self.closed += 1

    def _open(self, settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]) -> Any:
        if self.fails:
            # A session that is refused after it was opened has reported both.
            events.put(SessionEvent("connected"))
            events.put(SessionEvent("lost"))
            raise self.fails.pop(0)
        world = self.ensemble.world
        session = LookedAtSession(
            self.ensemble.server, world, Access(), Random(2), settings, events
        )
        session.open()
        self.sessions.append(session)
        return FakeStore(session)

    def run(self, *actions: Callable[[], object]) -> list[float]:
        """Do these, one at each wait, then close; return the waits."""
        self.clock.actions = [*actions, self.candidate.close]
        self.candidate.run()
        assert self.clock.actions == []
        return self.clock.waited_s

    def change(self, *operations: Create | Delete | SetData) -> None:
        """Another client changes nodes, and the candidate's session receives what it watches."""
        self.other.commit([(operation,) for operation in operations])
        self.ensemble.world.let_pass(1.0)

    def epochs(self, caplog: pytest.LogCaptureFixture) -> int:
        return sum("one is the coordinator, epoch" in message for message in caplog.messages)


@pytest.fixture
def scene(caplog: pytest.LogCaptureFixture) -> Scene:
    caplog.set_level("INFO", "pyspark_zkgroup.coordinator")
    return Scene()


def test_a_candidate_without_a_session_tries_again_each_second(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.fails = [ServerError("no server"), RuntimeError("a fault")]
    waited_s = scene.run(lambda: None, lambda: None)
    assert waited_s[:2] == [1.0, 1.0]
    assert [message[:9] for message in caplog.messages[:2]] == ["[ZKG-150]", "[ZKG-152]"]
    assert len(scene.sessions) == 1
    assert not scene.sessions[0].alive
    assert scene.closed == 1


def test_an_elected_candidate_is_found_by_its_node(scene: Scene) -> None:
    found: list[Candidacy | None] = []

    def look() -> None:
        assert scene.candidate.in_office
        found.append(scene.candidate.whereabouts())

    assert scene.candidate.whereabouts() is None
    scene.run(look)
    assert found == [ME]
    assert not scene.candidate.in_office
    assert scene.candidate.whereabouts() is None
    assert scene.other.nodes([COORDINATOR]) == [None]


def test_an_unreadable_node_of_the_election_names_no_coordinator(scene: Scene) -> None:
    found: list[Candidacy | None] = []

    def look() -> None:
        scene.change(SetData(COORDINATOR, b"rubbish", -1))
        found.append(scene.candidate.whereabouts())

    scene.run(look)
    assert found == [None]


def test_a_candidate_whose_node_is_deleted_is_elected_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.run(lambda: scene.change(Delete(COORDINATOR, -1)))
    assert scene.epochs(caplog) == 2
    assert len(scene.sessions) == 1


def test_a_candidate_waits_while_another_one_is_in_office(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.other.ensure([COORDINATED])
    scene.change(Create(COORDINATOR, b'{"name":"two"}', ephemeral=True))
    waited_s = scene.run(
        lambda: None,
        lambda: scene.change(Delete(COORDINATOR, -1)),
    )
    assert waited_s[:2] == [60.0, 60.0]
    assert scene.epochs(caplog) == 1


def test_a_watch_on_a_group_ends_no_term(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[set[str]] = []

    def look() -> None:
        assert scene.candidate.term is not None
        seen.append(set(scene.candidate.term.state.groups))

    def create() -> None:
        look()
        scene.other.ensure([CoordinatedPaths("g").ids])
        scene.ensemble.world.let_pass(1.0)

    scene.run(create, look)
    assert seen == [set(), {"g"}]
    assert scene.epochs(caplog) == 1


def test_a_candidate_that_is_closed_is_waited_for_ten_seconds(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[Thread] = []

    class Thread:
        def __init__(self, *, target: Callable[[], None], name: str, daemon: bool) -> None:
            self.given = target, name, daemon
            self.joined_s: list[float] = []
            threads.append(self)

        def start(self) -> None:
            assert self.given == (scene.candidate.run, "zkgroup-candidate-one", True)

        def join(self, timeout: float) -> None:
            self.joined_s.append(timeout)

    monkeypatch.setattr(threading, "Thread", Thread)
    scene.candidate.start()
    scene.candidate.close()
    assert [thread.joined_s for thread in threads] == [[10.0]]
    assert scene.closed == 1


def test_a_lost_session_is_replaced(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    def lose() -> None:
        scene.sessions[0].expire()
        scene.ensemble.world.let_pass(10.0)

    scene.run(lose, lambda: None)
    assert len(scene.sessions) == 2
    assert scene.epochs(caplog) == 2
