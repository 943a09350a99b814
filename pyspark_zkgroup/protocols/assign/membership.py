"""Builds the membership of the option `assign`: named partitions, without joining the group.

The query registers nothing and owns nothing, so it shares with no other query, and none takes over
from it.
"""

from __future__ import annotations

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.assign.fixed_target import FixedTarget
from pyspark_zkgroup.protocols.assign.tenure import OffsetFences
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.owned.assembly import basis
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.joining import Entry
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka


def assigned_membership(
    options: Options,
    brokers: Brokers,
    environment: Environment = REAL,
    in_kafka: OffsetsInKafka | None = None,
) -> OwnedMembership:
    paths = GroupPaths(options.group.id)
    base = basis(options, brokers, environment, in_kafka, paths)
    reader = GroupReader(paths, options.topics.subscription, base.topic_reader())
    return base.membership(
        "assign",
        base.zookeeper_sessions(),
        FixedTarget(options, base.agenda, reader, base.first),
        Entry(lambda *_: None, precedes_replay=lambda *_: False),
        tenure=OffsetFences(),
        heeds_requests=False,
        # A client that sets an offset meanwhile ends this query at its next proof.
        looks_every_s=None,
    )
