"""In which order a member joins, and how it meets the registration that it left behind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.ops import Create, Done, NodeVersion
from pyspark_zkgroup.group.ownership import Known, OffsetRead, OwnerRead, fence_of
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.owned import joining, registrations
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.joining import Entry, Joining
from pyspark_zkgroup.protocols.owned.registrations import RegistrationNode
from pyspark_zkgroup.zk.port import DisconnectedError
from tests.fakes.answering_store import SESSION, context_of
from tests.harness.given_options import LEAST

PLAN = Plan("zookeeper", "g", "me")


class Scene:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, static: bool) -> None:
        self.done: list[str] = []
        self.context = context_of(SimpleNamespace(), static=static)
        self.agenda = Agenda(self.context)
        decider = SimpleNamespace(
            introduce=self._note("introduce", False), subscribed=lambda: (), told=True
        )
        entry = Entry(
            self._note("register"), self._note("prepare"), lambda _c, first: self._began(first)
        )
        nothing: Any = SimpleNamespace()
        parts: Any = (parse(LEAST), nothing, self.agenda, entry, decider, nothing, nothing)
        self.joining = Joining(*parts)
        monkeypatch.setattr(joining, "take_over_owners", self._note("take over"))

    def _note(self, what: str, result: Any = None) -> Any:
        def noted(*_: Any) -> Any:
            self.done.append(what)
            return result

        return noted

    def _began(self, first: bool) -> None:
        self.done.append("begin first" if first else "begin again")


def test_a_member_looks_at_the_group_before_it_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, static=False)
    scene.joining.join(scene.context)
    assert scene.done == ["prepare", "introduce", "register", "begin first"]
    scene.joining.join(scene.context)
    assert len(scene.done) == 4
    scene.done.clear()
    scene.agenda.joined = False
    scene.joining.join(scene.context)
    assert scene.done == ["prepare", "register", "begin again"]


@pytest.mark.parametrize(
    ("static", "plan", "expected"),
    [(True, PLAN, True), (True, None, False), (False, PLAN, False), (False, None, False)],
)
def test_only_a_static_member_with_a_plan_takes_owner_nodes_over(
    monkeypatch: pytest.MonkeyPatch, static: bool, plan: Plan | None, expected: bool
) -> None:
    scene = Scene(monkeypatch, static=static)
    if plan is not None:
        scene.joining.restart(plan)
    scene.joining.join(scene.context)
    assert ("take over" in scene.done) is expected


class Lagging:
    """A server that shows an old registration until it has caught up, and has looked so often."""

    def __init__(self, holder: int, looks: int = 0) -> None:
        self.looks = looks
        self.session = SimpleNamespace(id=SESSION, negotiated_timeout_s=1.0)
        self.holder, self.syncs = holder, 0
        self.sent: list[Any] = []

    def ensure(self, _paths: list[str], *, world_open: bool) -> None:
        assert world_open, "other clients create their registrations there"

    def sync(self) -> None:
        self.syncs += 1

    def stats(self, _paths: list[str]) -> list[Any]:
        if self.syncs:
            self.looks -= 1
        if self.syncs and self.looks < 0:
            return [None]
        return [SimpleNamespace(ephemeral_owner=self.holder)]

    def commit(self, transactions: list[Any]) -> list[Any]:
        self.sent += transactions
        return [Done()]


def test_an_old_registration_at_a_server_that_lags_is_looked_at_again() -> None:
    """The session expires, and the next one is opened at a server that has not heard of it."""
    store = Lagging(holder=6)
    keeper: Any = SimpleNamespace(former=())
    registration = Registration(Subscription("static", (("t", 1),)), "1")
    RegistrationNode(registration, keeper).register(context_of(store), None, True)
    assert store.syncs == 1
    ((create,),) = store.sent
    assert isinstance(create, Create)
    assert (create.path, create.ephemeral, create.world_open) == ("/consumers/g/ids/me", True, True)


def test_what_this_session_has_registered_is_left_alone() -> None:
    store = Lagging(holder=SESSION)
    registration = Registration(Subscription("static", (("t", 1),)), "1")
    node = RegistrationNode(registration, cast(Any, SimpleNamespace(former=())))
    node.register(context_of(store), None, False)
    assert (store.syncs, store.sent) == (0, [])


@pytest.mark.parametrize(("passed_s", "expected"), [(0.5, 1), (0.7, 0)])
def test_a_session_that_was_given_up_is_waited_for_twice_its_timeout(
    passed_s: float, expected: int
) -> None:
    """No server could be reached when it was given up, so it still has our registration."""
    store = Lagging(holder=6, looks=4)
    times = iter(n * passed_s for n in range(10))
    waits: list[float] = []
    keeper: Any = SimpleNamespace(former={6}, agenda=SimpleNamespace(wait=waits.append))
    context = context_of(store)
    cast(Any, context.clock).monotonic = lambda: next(times)
    node = RegistrationNode(Registration(Subscription("static", (("t", 1),)), "1"), keeper)
    if expected:
        node.register(context, None, False)
    else:
        with pytest.raises(DisconnectedError, match="has not ended yet"):
            node.register(context, None, False)
    assert len(store.sent) == expected
    assert waits


@pytest.mark.parametrize(
    ("plan", "version", "expected"),
    [
        pytest.param("me", 4, True, id="ours"),
        pytest.param("me", 5, False, id="read on since"),
        pytest.param("other", 4, False, id="a plan of another member"),
        pytest.param("", 4, False, id="no plan"),
    ],
)
def test_only_a_process_of_our_checkpoint_is_a_predecessor(
    plan: str, version: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, fence = TopicPartition("t", 0), NodeVersion(70, 4)
    context = context_of(cast(Any, SimpleNamespace()))
    context.holdings.known[p] = Known(fence, 5, 5)
    planned = PlannedRange(p, OffsetRange(5, 9), 0, fence_of(fence))
    given = Plan("zookeeper", "g", plan, (planned,)) if plan else None
    owner, offset = OwnerRead("me-0", 6, 1), OffsetRead(b"5", NodeVersion(70, version))
    monkeypatch.setattr(registrations, "read_owners", lambda *_: {p: owner})
    monkeypatch.setattr(registrations, "read_offsets", lambda *_: {p: offset})
    assert registrations.is_predecessor(context, given) is expected
