"""Picks the membership that the options ask for.

Each is imported when it is chosen: its modules are more than half of what a planner loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.port import Brokers, Membership, OffsetsInKafka


class Kafka(Brokers, OffsetsInKafka, Protocol):
    """All that any of them asks of Kafka."""

    def fetch_settings(self) -> FetchSettings:
        """For connections of the membership's own."""


def membership(options: Options, kafka: Kafka, environment: Environment = REAL) -> Membership:
    build = _assigned if options.topics.assigned else PROTOCOLS[options.protocol.name]
    return build(options, kafka, environment, kafka)


def _assigned(
    options: Options, kafka: Kafka, environment: Environment, in_kafka: Kafka
) -> Membership:
    from pyspark_zkgroup.protocols.assign.membership import assigned_membership

    return assigned_membership(options, kafka, environment, in_kafka)


def _zookeeper(
    options: Options, kafka: Kafka, environment: Environment, in_kafka: Kafka
) -> Membership:
    from pyspark_zkgroup.protocols.zookeeper.membership import zookeeper_membership

    return zookeeper_membership(options, kafka, environment, in_kafka)


def _coordinator(
    options: Options, kafka: Kafka, environment: Environment, in_kafka: Kafka
) -> Membership:
    from pyspark_zkgroup.protocols.coordinator.membership import coordinator_membership

    return coordinator_membership(options, kafka, environment, in_kafka)


def _light(options: Options, kafka: Kafka, environment: Environment, in_kafka: Kafka) -> Membership:
    try:
        from pyspark_zkgroup.protocols.light.membership import light_membership
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise OptionError.of("light_packages_missing") from None
    return light_membership(options, kafka, environment, in_kafka)


def _kafka(
    options: Options, kafka: Kafka, environment: Environment, _in_kafka: Kafka
) -> Membership:
    from pyspark_zkgroup.kafka.connection import Cluster
    from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
    from pyspark_zkgroup.protocols.kafka.membership import KafkaMembership

    return KafkaMembership(
        options,
        kafka,
        lambda: GroupCoordinator(Cluster(kafka.fetch_settings()), options.group.id),
        options.protocol.kafka,
        environment,
    )


Build = Callable[[Options, Kafka, Environment, Kafka], Membership]
PROTOCOLS: dict[str, Build] = {
    "zookeeper": _zookeeper,
    "coordinator": _coordinator,
    "light": _light,
    "kafka": _kafka,
}
"""By the value of the option `protocol`."""
