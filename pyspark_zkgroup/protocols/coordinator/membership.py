"""Builds members of the `coordinator` protocol.

Owner nodes, offsets and fences are those of the `zookeeper` protocol. Members register elsewhere,
and commands set their target.
"""

from __future__ import annotations

from pyspark_zkgroup.group.balance import STICKY
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.coordinator.command_channel import CommandChannel
from pyspark_zkgroup.protocols.coordinator.commanded_target import CommandedTarget
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.owned.assembly import basis
from pyspark_zkgroup.protocols.owned.joining import Entry
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.owned.registrations import RegistrationNode
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka


def coordinator_membership(
    options: Options,
    brokers: Brokers,
    environment: Environment = REAL,
    in_kafka: OffsetsInKafka | None = None,
) -> OwnedMembership:
    paths = CoordinatedPaths(options.group.id)
    base = basis(options, brokers, environment, in_kafka, paths)
    keeper = base.zookeeper_sessions()
    channel = CommandChannel(paths)
    topics = base.topic_reader()
    decider = CommandedTarget(
        *(options, base.agenda, base.first, channel),
        lambda context: topics.read(context.store, [options.topics.subscription]),
    )
    register = RegistrationNode(registration_of(options), keeper).register
    entry = Entry(register, channel.prepare, decider.begin)
    return base.membership("coordinator", keeper, decider, entry, more_status=decider.status)


def registration_of(options: Options) -> Registration:
    return Registration(
        options.topics.subscription,
        "",
        strategy=STICKY,
        static_id=options.group.member_id is not None,
        internal=not options.topics.exclude_internal,
    )
