"""Builds members with owner nodes from the parts in which their protocols differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.decider import Decider
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.joining import Entry, Joining
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import Member
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.owned.offset_watch import OffsetWatch
from pyspark_zkgroup.protocols.owned.requests import Requests
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.protocols.owned.tenure import OwnerNodes, Tenure
from pyspark_zkgroup.protocols.owned.topics_view import TopicReader
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback


@dataclass(frozen=True, slots=True)
class Basis:
    """The parts that are the same in all of them."""

    options: Options
    brokers: Brokers
    environment: Environment
    agenda: Agenda
    first: FirstOffsets
    copy: KafkaCopy

    def zookeeper_sessions(self) -> SessionKeeper:
        settings, open_store = self.options.zookeeper, self.environment.open_store
        return SessionKeeper(self.agenda, lambda events, _former: open_store(settings, events))

    def topic_reader(self) -> TopicReader:
        return TopicReader(self.options, self.brokers)

    def membership(
        self,
        protocol: str,
        keeper: SessionKeeper,
        decider: Decider,
        entry: Entry,
        *,
        tenure: Tenure | None = None,
        heeds_requests: bool = True,
        looks_every_s: float | None = float("inf"),
        more_status: Callable[[], dict[str, Any]] = dict,
    ) -> OwnedMembership:
        """`heeds_requests`: operators can ask the member to leave. `looks_every_s`: how often to
        look for offsets set by other clients, in addition to watches; None: never.
        """
        parts = (entry, decider, self.first, self.copy)
        return OwnedMembership(
            protocol,
            keeper,
            decider,
            Joining(self.options, self.brokers, self.agenda, *parts),
            OwnerNodes() if tenure is None else tenure,
            Requests(keeper, self.copy) if heeds_requests else None,
            None if looks_every_s is None else OffsetWatch(keeper, looks_every_s),
            more_status,
        )


def basis(
    options: Options,
    brokers: Brokers,
    environment: Environment,
    in_kafka: OffsetsInKafka | None,
    paths: GroupPaths,
) -> Basis:
    clock = environment.clock
    name = options.group.member_id or environment.new_name(clock)
    member = Member(
        paths,
        f"{options.group.id}_{name}",
        options.group.member_id is not None and not options.topics.assigned,
        Holdings(),
        clock,
        RebalanceCallback(options.group.rebalance_callback),
    )
    losses = Losses(paths.offset, fail=options.fetch.fail_on_data_loss)
    copy = KafkaCopy(options, in_kafka, clock)
    first = FirstOffsets(options.starting, brokers, losses, copy)
    return Basis(options, brokers, environment, Agenda(member), first, copy)
