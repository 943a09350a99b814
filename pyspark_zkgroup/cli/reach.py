"""Where a command finds the servers: two options that every command on live groups has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store

_ANSWER_S = 10.0

zookeeper_option = click.option(
    "--zookeeper",
    "connect",
    metavar="HOSTS[/CHROOT]",
    envvar="ZKGROUP_ZOOKEEPER",
    required=True,
    help="As zookeeper.connect of the query; or set ZKGROUP_ZOOKEEPER.",
)
bootstrap_option = click.option(
    "--bootstrap-servers",
    "bootstrap",
    metavar="HOST:PORT,...",
    envvar="ZKGROUP_BOOTSTRAP_SERVERS",
    default="",
    help="Some brokers, where ZooKeeper does not know them (KRaft); or set "
    "ZKGROUP_BOOTSTRAP_SERVERS.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def checked_group(name: str) -> str:
    if not name or "/" in name:
        raise OptionError(
            f"{name!r} is not the name of a group",
            "Give group.id as the queries have it; `zkgroup groups` lists all",
        )
    return name


@contextmanager
def store_of(connect: str) -> Iterator[Store]:
    """A session of its own; an ensemble that stops answering meanwhile is a ServerError as well."""
    from pyspark_zkgroup.zk.group_reader import opened
    from pyspark_zkgroup.zk.session import DisconnectedError, SessionLostError

    with opened(connect) as store:
        try:
            yield store
        except (DisconnectedError, SessionLostError) as error:
            raise ServerError(
                f"ZooKeeper at {connect} stopped answering ({error})", "Try again"
            ) from error


class LogEnds:
    """Asks the brokers for the ends of logs; connects when it is first asked, and once."""

    def __init__(self, bootstrap: str, registered: Collection[str]) -> None:
        self._given = bool(bootstrap.strip())
        servers = bootstrap.split(",") if self._given else registered
        self._addresses = tuple(server.strip() for server in servers)
        self._cluster: Any = None

    def topics(self) -> Mapping[str, tuple[int, ...]]:
        """As the brokers know them; only these know where the cluster is a KRaft one."""
        from pyspark_zkgroup.kafka import metadata

        return metadata.topics(self._connected(), timeout_s=_ANSWER_S)

    def read(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        from pyspark_zkgroup.kafka import offsets

        if not partitions:
            return {}
        return offsets.latest(self._connected(), partitions, timeout_s=_ANSWER_S)

    def starts(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        from pyspark_zkgroup.kafka import offsets

        return offsets.earliest(self._connected(), partitions, timeout_s=_ANSWER_S)

    def at(
        self, partitions: Collection[TopicPartition], at_ms: int
    ) -> Mapping[TopicPartition, int]:
        """The first offset at or after a time; below 0 where there is none."""
        from pyspark_zkgroup.kafka import offsets

        return offsets.look_up(self._connected(), partitions, at_ms, timeout_s=_ANSWER_S).found

    def _connected(self) -> Any:
        from pyspark_zkgroup.kafka.connection import Cluster
        from pyspark_zkgroup.kafka.settings import FetchSettings

        if not self._addresses:
            raise ServerError(
                "No Kafka broker is registered in this ZooKeeper",
                "Give --bootstrap-servers, or check the chroot of --zookeeper",
            )
        if self._cluster is None:
            try:
                settings = FetchSettings(self._addresses, client_id="zkgroup-cli")
            except ValueError as error:
                raise OptionError(
                    f"--bootstrap-servers: {error}", "Give host:port[,host:port...]"
                ) from error
            self._cluster = Cluster(settings)
        return self._cluster

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
