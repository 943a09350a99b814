"""A fifth protocol, added only by what DESIGN.md names under "Where to start": a module that builds
its members, and its line in protocols/choice.py.

All partitions belong to the member whose name comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.snapshot import Snapshot, partitions_of
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import choice
from pyspark_zkgroup.protocols.choice import Kafka, membership
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.owned import claims
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.assembly import basis
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.decider import Look, Outlook
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.joining import Entry
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import RegistrationNode
from pyspark_zkgroup.protocols.port import Membership
from tests.contract.simulated_groups import SimulatedGroup
from tests.contract.simulated_queries import SimulatedQuery, Simulation
from tests.harness.waiting import wait_until

EACH = 5


# -- the protocol


@dataclass
class FirstByName:
    subscription: Any
    agenda: Agenda
    reader: GroupReader
    first: FirstOffsets
    told: bool = False
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}))
    target: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def introduce(self, context: MemberContext) -> bool:
        view = self.reader.look(context.store, lambda: False)
        self.snapshot = view.snapshot
        return bool(view.topics_from)

    def look(self, context: MemberContext) -> Look:
        view = self.reader.look(context.store, self.agenda.changed_meanwhile)
        if context.consumer not in view.registrations:
            return Look.UNREGISTERED
        self.snapshot = view.snapshot
        self.first.see(view.snapshot.topics, view.lives)
        reader = ThreadId(min(view.snapshot.members), 0)
        self.target = dict.fromkeys(self.subscribed(), reader)
        return Look.DECIDED

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        members = self.snapshot.members
        return claims.rebalance(context, mine, self.snapshot.topics, self.first, members)

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        """Do nothing."""

    def outlook(self, _plan: Plan | None) -> Outlook:
        return Outlook()

    def subscribed(self) -> list[TopicPartition]:
        return partitions_of(self.subscription, self.snapshot.topics)


def toy_membership(
    options: Options, brokers: Kafka, environment: Environment, _in_kafka: Kafka
) -> Membership:
    paths = GroupPaths(options.group.id)
    base = basis(options, brokers, environment, None, paths)
    keeper = base.zookeeper_sessions()
    reader = GroupReader(paths, options.topics.subscription, base.topic_reader())
    decider = FirstByName(options.topics.subscription, base.agenda, reader, base.first)
    registration = Registration(options.topics.subscription, "", strategy="first-by-name")
    entry = Entry(RegistrationNode(registration, keeper).register)
    return base.membership("toy", keeper, decider, entry)


# -- its test


class ToyQuery(SimulatedQuery):
    def _new_membership(self) -> Any:
        named = replace(self.options.protocol, name=cast(Any, "toy"))
        self.options = replace(self.options, protocol=named)
        return membership(self.options, self.brokers, self._environment())


class ToyGroup(SimulatedGroup):
    def toy(self, topic: str) -> ToyQuery:
        return ToyQuery(self.simulation, self.options(topic), None)


def test_a_fifth_protocol_needs_a_builder_and_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.PROTOCOLS, "toy", toy_membership)
    simulation = Simulation()
    try:
        group = ToyGroup(simulation)
        topic = group.topic(2)
        group.produce(topic, EACH)
        first, second = group.toy(topic), group.toy(topic)
        assert first.membership.protocol == "toy"

        def all_read(query: ToyQuery) -> bool:
            first.trigger()
            second.trigger()
            return len(query.rows) == 2 * EACH

        clock = simulation.clock
        wait_until(lambda: all_read(first), 20, "the first to read", interval_s=0.0, clock=clock)
        assert second.rows == []
        assert len(second.membership.decider.snapshot.members) == 2
        first.trigger()  # which commits what was read
        first.stop()
        group.produce(topic, EACH)

        def taken_up() -> bool:
            second.trigger()
            return len(second.rows) == 2 * EACH

        wait_until(taken_up, 20, "the second to follow", interval_s=0.0, clock=clock)
        assert sorted(first.rows + second.rows) == sorted(set(first.rows + second.rows))
    finally:
        simulation.end()
