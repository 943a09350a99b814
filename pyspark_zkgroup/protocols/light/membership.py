"""Builds members of the `light` protocol, whose coordinator sends them commands by network.

The coordinator keeps their sessions, nodes and commands. The transactions they ask for, and the
meaning of the outcomes, are those of every member with owner nodes.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from pyspark_zkgroup.errors import FencedError
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import LightSeat
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.coordinator.commanded_target import CommandedTarget
from pyspark_zkgroup.protocols.coordinator.membership import registration_of
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.light.call import Call
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.registering import StreamRegistration
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.store import LightStore
from pyspark_zkgroup.protocols.light.stream_channel import StreamChannel
from pyspark_zkgroup.protocols.owned.assembly import basis
from pyspark_zkgroup.protocols.owned.joining import Entry
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka
from pyspark_zkgroup.zk.port import SessionEvent

_LOOKS_EVERY_S = 5.0  # at what watches would report
OpenLight = Callable[[LightSettings, "queue.SimpleQueue[SessionEvent]"], LightSession]


def light_membership(
    options: Options,
    brokers: Brokers,
    environment: Environment = REAL,
    in_kafka: OffsetsInKafka | None = None,
) -> OwnedMembership:
    base = basis(options, brokers, environment, in_kafka, CoordinatedPaths(options.group.id))
    group, consumer = options.group.id, base.agenda.member.consumer
    incarnation = environment.new_secret()
    hello = Hello(group, consumer, incarnation, options.protocol.light.session_timeout_ms)
    sessions = _Sessions(options, hello, environment.open_light or _open_session)
    keeper = SessionKeeper(base.agenda, sessions.open, "the coordinator")
    seat = LightSeat(identity.shown(group, consumer, incarnation), hello.timeout_ms)
    registered = replace(registration_of(options), light=seat)
    registration = StreamRegistration(options, registered, base.agenda, brokers)

    decider = CommandedTarget(
        *(options, base.agenda, base.first, StreamChannel(), registration.read_topics),
        watches=False,
    )

    def status() -> dict[str, Any]:
        session = keeper.session
        return {**decider.status(), "coordinator": session.settings.hosts if session else None}

    # A coordinator executes nothing for a member that is not registered.
    entry = Entry(registration.register, begin=decider.begin, precedes_replay=lambda *_: True)
    return base.membership(
        *("light", keeper, decider, entry),
        # An operator's requests to members are in nodes that a light member does not read.
        heeds_requests=False,
        looks_every_s=_LOOKS_EVERY_S,
        more_status=status,
    )


@dataclass(slots=True)
class _Sessions:
    """Opens sessions one after another; none after one that another process has fenced."""

    options: Options
    hello: Hello
    open_light: OpenLight
    last: LightSession | None = None

    def open(self, events: queue.SimpleQueue[SessionEvent], former: Collection[int]) -> LightStore:
        """Return a session that a coordinator has accepted, or raise the reason of the refusal."""
        if self.last is not None and isinstance(self.last.refused, FencedError):
            raise self.last.refused
        settings = LightSettings(
            self.options.protocol.light.addresses,
            self.options.protocol.light.access,
            self.hello,
            frozenset(former),
        )
        self.last = self.open_light(settings, events)
        return LightStore(self.last)


def _open_session(settings: LightSettings, events: queue.SimpleQueue[SessionEvent]) -> LightSession:
    session = LightSession(settings, events, Call)
    session.open()
    return session
