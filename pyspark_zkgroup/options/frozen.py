"""What one reader was asked for, checked and frozen."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_zkgroup.group.positions import StartingOffsets
from pyspark_zkgroup.group.registration import Subscription
from pyspark_zkgroup.model import Isolation


@dataclass(frozen=True, slots=True)
class Options:
    """What one reader was asked for. The credentials are left out of its repr."""

    zookeeper_hosts: str
    zookeeper_chroot: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    zookeeper_auth: tuple[tuple[str, str], ...] = field(repr=False)
    zookeeper_set_acl: bool
    group_id: str
    member_id: str | None
    checkpoint_location: str | None
    strategy: str
    order: str
    rebalance_wait_ms: int
    max_poll_interval_ms: int
    subscription: Subscription
    exclude_internal_topics: bool
    starting_offsets: StartingOffsets
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    bootstrap_servers: tuple[str, ...]
    client_id: str
    metadata_refresh_ms: int
    fetch_bytes_max: int
    fetch_response_bytes_max: int
    fetch_wait_max_ms: int
    request_timeout_ms: int
    isolation_level: Isolation
    include_headers: bool
