"""The paths of a group's nodes in ZooKeeper, relative to the chroot. No other module spells
them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.model import TopicPartition

CONSUMERS = "/consumers"
COORDINATED = "/consumers/groups"
COORDINATOR = "/consumers/coordinator"
BROKERS = "/brokers"
BROKER_IDS = "/brokers/ids"
BROKER_TOPICS = "/brokers/topics"


def topic_path(topic: str) -> str:
    return f"{BROKER_TOPICS}/{topic}"


def broker_path(broker: int | str) -> str:
    return f"{BROKER_IDS}/{broker}"


@dataclass(frozen=True, slots=True)
class GroupPaths:
    """The nodes of one group. Below a topic, a partition is its bare number."""

    group: str

    def __post_init__(self) -> None:
        if not self.group or "/" in self.group:
            raise ValueError(f"not the name of a group: {self.group!r}")

    @property
    def root(self) -> str:
        return f"{CONSUMERS}/{self.group}"

    @property
    def ids(self) -> str:
        return f"{self.root}/ids"

    def id(self, consumer: str) -> str:
        return f"{self.ids}/{consumer}"

    @property
    def owners(self) -> str:
        return f"{self.root}/owners"

    def owner_topic(self, topic: str) -> str:
        return f"{self.owners}/{topic}"

    def owner(self, partition: TopicPartition) -> str:
        return f"{self.owners}/{partition.topic}/{partition.partition}"

    @property
    def offsets(self) -> str:
        return f"{self.root}/offsets"

    def offset_topic(self, topic: str) -> str:
        return f"{self.offsets}/{topic}"

    def offset(self, partition: TopicPartition) -> str:
        return f"{self.offsets}/{partition.topic}/{partition.partition}"

    # Not below ids, owners or offsets, which JVM consumers and their tools list.

    @property
    def requests(self) -> str:
        return f"{self.root}/zkgroup/requests"

    def request(self, consumer: str) -> str:
        """Return the node with an operator's request to this member; it gets the answer as well."""
        return f"{self.requests}/{consumer}"

    @property
    def resting(self) -> str:
        return f"{self.root}/zkgroup/resting"

    def rests(self, consumer: str) -> str:
        """Return the node that exists while a member that was asked to leave stays outside."""
        return f"{self.resting}/{consumer}"


def coordinated_ids(group: str) -> str:
    """Return where members register that get their assignment from a coordinator."""
    return f"{COORDINATED}/{group}/ids"


@dataclass(frozen=True, slots=True)
class CoordinatedPaths(GroupPaths):
    """The same nodes for owners and offsets; registrations and commands have their own nodes."""

    def __post_init__(self) -> None:
        if not self.group or "/" in self.group or self.root in (COORDINATED, COORDINATOR):
            raise ValueError(f"not the name of a coordinated group: {self.group!r}")

    @property
    def ids(self) -> str:
        return coordinated_ids(self.group)

    @property
    def other_ids(self) -> str:
        """Return where members register that compute the assignment themselves."""
        return f"{self.root}/ids"

    @property
    def channels(self) -> str:
        return f"{COORDINATED}/{self.group}/channel"

    def channel(self, consumer: str) -> str:
        return f"{self.channels}/{consumer}"

    def command(self, consumer: str, command: str = "") -> str:
        """Return the node of a command. Without `command` it is the prefix of a sequential node."""
        return f"{self.channel(consumer)}/{command}"

    @property
    def answers(self) -> str:
        return f"{COORDINATED}/{self.group}/answers"

    def answer(self, consumer: str, command: str) -> str:
        return f"{self.answers}/{consumer}-{command}"
