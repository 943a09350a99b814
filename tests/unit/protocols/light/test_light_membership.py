"""How a light member registers, and the settings of its port."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.errors import FencedError, ServerError
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import Registration, Subscription
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.light.access import server_options
from pyspark_zkgroup.protocols.light.membership import light_membership
from pyspark_zkgroup.protocols.light.registering import StreamRegistration
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import Member
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from pyspark_zkgroup.zk.port import SessionLostError
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock

GIVEN = {
    "group.id": "billing",
    "subscribe": "orders",
    "protocol": "light",
    "coordinator.addresses": "one:7000",
}
WITH_TLS = {**GIVEN, "coordinator.ssl.client.enable": "true"}
WITH_BROKERS = {**GIVEN, "kafka.bootstrap.servers": "b1:9092"}


class Clock(StillClock):
    """Each wait takes a second."""

    def time(self) -> float:
        return self.now

    def next_of(self, _events: queue.SimpleQueue[Any], _timeout_s: float) -> Any:
        self.now += 1.0
        return None


class Brokers(FakeBrokers):
    def __init__(self) -> None:
        super().__init__({"orders": 1})
        self.addresses: list[Any] = []

    def found(self, addresses: Any) -> None:
        self.addresses.append(addresses)


class Scene:
    """A member whose coordinator answers `taken` so many times."""

    def __init__(
        self, *, static: bool, taken: int, given: dict[str, str] | None = None, session: int = -1
    ) -> None:
        self.clock: Any = Clock()
        self.brokers = Brokers()
        self.taken = taken
        self.asked = 0
        self.session = SimpleNamespace(id=session, negotiated_timeout_s=1.0, brokers=("b1:9092",))
        member = Member(
            *(CoordinatedPaths("billing"), "billing_me", static, Holdings(), self.clock),
            RebalanceCallback(),
        )
        store: Any = SimpleNamespace(session=self.session, register=self._register)
        self.context = member.on(store)
        brokers: Any = self.brokers
        self.registration = StreamRegistration(
            parse(given or WITH_BROKERS),
            Registration(Subscription.static({"orders": 1}), ""),
            Agenda(member),
            brokers,
        )

    def _register(self, _data: bytes, _static: bool, _evidence: object) -> str:
        self.asked += 1
        if self.asked <= self.taken:
            return "another process"
        self.session.id = 9
        return ""

    def register(self, *, first: bool = True) -> None:
        self.registration.register(self.context, None, first)


def test_a_static_member_waits_for_its_predecessor_for_twice_the_timeout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene(static=True, taken=4)
    with pytest.raises(FencedError, match="another process"):
        scene.register()
    assert (scene.asked, scene.clock.now) == (4, 103.0)
    assert len(caplog.messages) == 1


def test_a_static_member_registers_when_its_predecessor_has_gone() -> None:
    scene = Scene(static=True, taken=3)
    scene.register()
    assert (scene.asked, scene.clock.now) == (4, 103.0)


@pytest.mark.parametrize(("static", "first"), [(False, True), (True, False)])
def test_no_other_member_waits_for_its_name(static: bool, first: bool) -> None:
    scene = Scene(static=static, taken=1)
    with pytest.raises(FencedError):
        scene.register(first=first)
    assert scene.asked == 1


def test_another_registration_than_the_sessions_ends_it() -> None:
    scene = Scene(static=False, taken=0, session=5)
    with pytest.raises(SessionLostError):
        scene.register(first=False)
    same = Scene(static=False, taken=0, session=9)
    same.register(first=False)


def test_brokers_are_those_of_the_coordinator_unless_they_are_given() -> None:
    given = Scene(static=False, taken=0)
    given.register(first=False)
    assert given.brokers.addresses == []
    scene = Scene(static=False, taken=0, given=WITH_TLS)
    assert scene.registration.read_topics(scene.context).partitions == {"orders": (0,)}
    assert scene.brokers.addresses == [("b1:9092",)]
    scene.session.brokers = ()
    with pytest.raises(ServerError):
        scene.registration.read_topics(scene.context)


def test_the_status_names_the_coordinators_of_the_session() -> None:
    brokers: Any = Brokers()
    member = light_membership(parse(WITH_BROKERS), brokers)
    assert member.status()["coordinator"] is None
    assert member.requests is None


def test_a_port_limits_what_clients_without_a_token_can_use() -> None:
    options = dict(server_options(7))
    assert options["grpc.max_allowed_incoming_connections"] == 7
    assert options["grpc.max_concurrent_streams"] == 4
    assert options["grpc.max_metadata_size"] == 16_384
    assert options["grpc.so_reuseport"] == 0
    assert options["grpc.enable_http_proxy"] == 0
