"""Builds members of the `zookeeper` protocol."""

from __future__ import annotations

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.owned.assembly import basis
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.joining import Entry
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.owned.registrations import RegistrationNode
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka
from pyspark_zkgroup.protocols.zookeeper.computed_target import ComputedTarget
from pyspark_zkgroup.protocols.zookeeper.other_members import OtherMembers
from pyspark_zkgroup.protocols.zookeeper.unread import UnreadPartitions


def zookeeper_membership(
    options: Options,
    brokers: Brokers,
    environment: Environment = REAL,
    in_kafka: OffsetsInKafka | None = None,
) -> OwnedMembership:
    paths = GroupPaths(options.group.id)
    base = basis(options, brokers, environment, in_kafka, paths)
    keeper = base.zookeeper_sessions()
    registration = Registration(
        options.topics.subscription,
        "",
        strategy=options.group.strategy,
        order=options.group.order,
        balanced=options.group.balanced,
        static_id=options.group.member_id is not None,
    )
    reader = GroupReader(paths, options.topics.subscription, base.topic_reader())
    unread = UnreadPartitions(options.group.strategy, options.group.order, environment.clock)
    others = OtherMembers(registration, unread)
    decider = ComputedTarget(options, others, base.agenda, reader, base.first)
    entry = Entry(RegistrationNode(registration, keeper).register)
    return base.membership("zookeeper", keeper, decider, entry)
