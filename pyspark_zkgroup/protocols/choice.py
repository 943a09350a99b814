"""Picks the membership that the options ask for."""

from __future__ import annotations

from typing import Protocol

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.assign.membership import AssignedMembership
from pyspark_zkgroup.protocols.coordinator.membership import CoordinatorMembership
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.kafka.membership import KafkaMembership
from pyspark_zkgroup.protocols.port import Brokers, Membership, OffsetsInKafka
from pyspark_zkgroup.protocols.zookeeper.membership import ZookeeperMembership


class Kafka(Brokers, OffsetsInKafka, Protocol):
    """All that any of them asks of Kafka."""

    def fetch_settings(self) -> FetchSettings:
        """For connections of the membership's own."""


def membership(options: Options, kafka: Kafka, surroundings: Surroundings = REAL) -> Membership:
    if options.topics.assigned:
        return AssignedMembership(options, kafka, surroundings, in_kafka=kafka)
    if options.protocol.name == "coordinator":
        return CoordinatorMembership(options, kafka, surroundings, in_kafka=kafka)
    if options.protocol.name == "light":
        return _light(options, kafka, surroundings)
    if options.protocol.name == "kafka":
        return KafkaMembership(
            options,
            kafka,
            lambda: GroupCoordinator(Cluster(kafka.fetch_settings()), options.group.id),
            options.protocol.kafka,
            surroundings,
        )
    return ZookeeperMembership(options, kafka, surroundings, in_kafka=kafka)


def _light(options: Options, kafka: Kafka, surroundings: Surroundings) -> Membership:
    try:
        from pyspark_zkgroup.protocols.light.membership import LightMembership
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "grpc":
            raise
        raise OptionError(
            "Option 'protocol' is 'light', but grpcio is not installed on the driver",
            "Install pyspark-zkgroup[light]",
        ) from None
    return LightMembership(options, kafka, surroundings, in_kafka=kafka)
