"""What one reader was asked for, checked and frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.model import Isolation, TopicPartition
from pyspark_zkgroup.ranges.endings import Ending
from pyspark_zkgroup.ranges.limits import BatchLimits
from pyspark_zkgroup.ranges.positions import Starting
from pyspark_zkgroup.ranges.splitting import Splitting
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

OffsetsStorage = Literal["zookeeper", "kafka"]
Protocol = Literal["zookeeper", "coordinator", "light", "kafka"]


@dataclass(frozen=True, slots=True)
class LightOptions:
    """Of a member without ZooKeeper. The access shows no secret."""

    addresses: tuple[str, ...] = ()
    access: StreamAccess = field(default_factory=StreamAccess)
    session_timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class BatchRead:
    """What is said of a batch read. `ignored` are options of streams, with their values."""

    ending: Ending
    push_filters: bool
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What one reader was asked for. The credentials are left out of its repr. Only a batch read
    may have no group: its name is empty then.
    """

    zookeeper_hosts: str
    zookeeper_chroot: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    zookeeper_auth: tuple[tuple[str, str], ...] = field(repr=False)
    zookeeper_set_acl: bool
    zookeeper_security: ZooKeeperSecurity
    group_id: str
    member_id: str | None
    checkpoint_location: str | None
    strategy: str
    order: str
    protocol: Protocol
    coordinator_candidate: bool
    kafka_group: KafkaGroupSettings
    light: LightOptions
    offsets_storage: OffsetsStorage
    dual_commit: bool
    rebalance_wait_ms: int
    max_poll_interval_ms: int
    rebalance_callback: str | None
    subscription: Subscription
    assigned: tuple[TopicPartition, ...]
    exclude_internal_topics: bool
    starting_offsets: Starting
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    ends_by_itself: bool | None
    limits: BatchLimits
    splitting: Splitting
    batch: BatchRead
    bootstrap_servers: tuple[str, ...]
    client_id: str
    metadata_refresh_ms: int
    fetch_bytes_max: int
    fetch_response_bytes_max: int
    fetch_wait_max_ms: int
    request_timeout_ms: int
    isolation_level: Isolation
    include_headers: bool
    poll_timeout_ms: int
    client: ClientSettings
    security: KafkaSecurity
