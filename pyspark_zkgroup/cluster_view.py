"""The brokers as the planner and the membership ask them: from the driver, each call with its own
deadline.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options

# A boundary must not hang on brokers that are away: the next one asks again.
_TIMEOUT_S = 10.0
# Asked at every boundary: partitions whose leader is away must not hold up the others for long.
_LATEST_TIMEOUT_S = 5.0


class ClusterView:
    """Connects when it is first asked. Addresses come from the option, or else from ZooKeeper."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._addresses = tuple(options.bootstrap_servers)
        self._given = bool(options.bootstrap_servers)
        self._cluster: Cluster | None = None

    def fetch_settings(self) -> FetchSettings:
        if not self._addresses:
            raise ServerError(
                "No Kafka broker is known yet: none has registered in ZooKeeper",
                "Set kafka.bootstrap.servers, or wait for the brokers",
            )
        options = self._options
        return FetchSettings(
            bootstrap=self._addresses,
            client_id=options.client_id,
            fetch_bytes_max=options.fetch_bytes_max,
            response_bytes_max=options.fetch_response_bytes_max,
            fetch_wait_max_ms=options.fetch_wait_max_ms,
            request_timeout_ms=options.request_timeout_ms,
            isolation=options.isolation_level,
            fail_on_data_loss=options.fail_on_data_loss,
            include_headers=options.include_headers,
        )

    def found(self, addresses: Collection[str]) -> None:
        if self._given or tuple(addresses) == self._addresses:
            return
        self._addresses = tuple(addresses)
        self.close()

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        return metadata.topics(self._connected(), timeout_s=_TIMEOUT_S)

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return offsets.earliest(self._connected(), partitions, timeout_s=_TIMEOUT_S)

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return offsets.latest(self._connected(), partitions, timeout_s=_LATEST_TIMEOUT_S)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return offsets.ends(self._connected(), partitions, timeout_s=_LATEST_TIMEOUT_S)

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self.fetch_settings())
        return self._cluster
