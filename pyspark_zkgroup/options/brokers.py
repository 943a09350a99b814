"""The brokers: how records are fetched from them, and how connections to them are made, kept and
tried again, under the names of Kafka's own clients and of Spark's Kafka source.
"""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import Isolation
from pyspark_zkgroup.options import kafka_security, rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.starting import FAIL_ON_DATA_LOSS

_BUFFER = rules.whole_number(-1, rules.INT_MAX, "bytes")

FETCHING: Final = Section(__name__, "Kafka")
CONNECTIONS: Final = Section(__name__, "Connections to the brokers")

BOOTSTRAP: Final[Option[tuple[str, ...]]] = FETCHING.option(
    "kafka.bootstrap.servers", rules.ADDRESSES, (), default_text="those registered in ZooKeeper"
)
"""Some brokers of the cluster. Without zookeeper.connect, these brokers also coordinate the group
(protocol=kafka). With it, needed only where ZooKeeper does not know the brokers (KRaft).
"""
CLIENT_ID = FETCHING.optional("client.id", rules.NAME, default_text="the value of group.id")
"""The name under which brokers log this query's requests and count its quotas."""
METADATA_REFRESH = FETCHING.option(
    "metadata.refresh.ms", rules.duration_ms(low=100, high=rules.DAY_MS), 30000, in_batch="refused"
)
"""How often to ask Kafka for new topics and partitions, where ZooKeeper does not have them (KRaft).
"""
FETCH_BYTES = FETCHING.option(
    "fetch.message.max.bytes", rules.whole_number(1, rules.INT_MAX, "bytes"), 4194304
)
"""Maximum number of bytes of one partition per response of a broker. A larger record is still read,
alone.
"""
FETCH_RESPONSE_BYTES = FETCHING.option(
    "fetch.max.bytes", rules.whole_number(1, rules.INT_MAX, "bytes"), 16777216
)
"""Maximum number of bytes that one task requests at a time, for all its partitions. As much again
may be in memory on its way to Spark.
"""
FETCH_WAIT = FETCHING.option(
    "fetch.wait.max.ms",
    rules.duration_ms(),
    100,
    default_text="100, or half of socket.timeout.ms if that is 100 or less",
)
"""How long a broker may delay its response while it has no data. Must be less than
socket.timeout.ms.
"""
REQUEST_TIMEOUT = FETCHING.option(
    "socket.timeout.ms",
    rules.duration_ms(),
    30000,
    default_text="30000, plus fetch.wait.max.ms if that is 30000 or more",
)
"""How long to wait for a broker's response before the connection is closed and opened again."""
ISOLATION: Final[Option[Isolation]] = FETCHING.option(
    "kafka.isolation.level", rules.one_of("read_uncommitted", "read_committed"), "read_uncommitted"
)
"""read_committed skips the records of aborted transactions, and reads up to the first record of the
oldest open one. read_uncommitted reads all records.
"""
RACK = CONNECTIONS.optional("kafka.client.rack", rules.NAME)
"""The rack of this client, as in the brokers' broker.rack. Records are fetched from a replica in
that rack if the brokers name one (their replica.selector.class), else from the leaders.
"""
POLL_TIMEOUT = CONNECTIONS.option(
    "kafkaConsumer.pollTimeoutMs", rules.duration_ms(high=rules.DAY_MS), 120_000
)
"""How long a task waits for a range that makes no progress (no leader, no broker, no data) before
it fails and Spark retries it.
"""
LOOK_UP_RETRIES = CONNECTIONS.optional(
    "fetchOffset.numRetries",
    rules.whole_number(0, rules.INT_MAX),
    default_text="no limit within the boundary's time",
)
"""How often the driver repeats a request for log ends at one boundary."""
LOOK_UP_PAUSE = CONNECTIONS.optional(
    "fetchOffset.retryIntervalMs",
    rules.duration_ms(low=0),
    default_text="kafka.retry.backoff.ms, growing",
)
"""The pause between two such requests."""
RETRY_BACKOFF = CONNECTIONS.option("kafka.retry.backoff.ms", rules.duration_ms(), 50)
"""The first pause before a request to a broker is repeated."""
RETRY_BACKOFF_MAX = CONNECTIONS.option("kafka.retry.backoff.max.ms", rules.duration_ms(), 2000)
"""The longest pause before a request to a broker is repeated."""
RECONNECT_BACKOFF = CONNECTIONS.option("kafka.reconnect.backoff.ms", rules.duration_ms(), 50)
"""The first pause before a connection to an unreachable broker is tried again."""
RECONNECT_BACKOFF_MAX = CONNECTIONS.option(
    "kafka.reconnect.backoff.max.ms", rules.duration_ms(), 1000
)
"""The longest pause before a connection to an unreachable broker is tried again."""
CONNECT_TIMEOUT = CONNECTIONS.optional(
    "kafka.socket.connection.setup.timeout.ms",
    rules.duration_ms(),
    default_text="the value of socket.timeout.ms",
)
"""How long opening a connection to a broker may take."""
IDLE_MAX = CONNECTIONS.option(
    "kafka.connections.max.idle.ms", rules.duration_ms(low=1000, high=rules.DAY_MS), 540_000
)
"""How long a connection may be idle before it is closed."""
SEND_BUFFER = CONNECTIONS.option("kafka.send.buffer.bytes", _BUFFER, -1)
"""The operating system's send buffer per connection. -1 and 0 leave it to the operating system."""
RECEIVE_BUFFER = CONNECTIONS.option("kafka.receive.buffer.bytes", _BUFFER, -1)
"""The operating system's receive buffer per connection. -1 and 0 leave it to the operating system,
which increases it as needed; other values are rarely better.
"""
DNS_LOOKUP = CONNECTIONS.option(
    "kafka.client.dns.lookup",
    rules.one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "use_all_dns_ips",
)
"""How broker names that resolve to several addresses are used."""


def fetch_settings(given: Given, group_id: str) -> FetchSettings:
    """Names no broker where ZooKeeper is asked for them."""
    bootstrap = given.value(BOOTSTRAP)
    security = kafka_security.kafka_security(given)
    if security.needs_named_brokers and not bootstrap:
        raise OptionError.of("login_without_brokers", option=given.shown(kafka_security.PROTOCOL))
    wait_ms, timeout_ms = _answer_times_ms(given)
    return FetchSettings(
        bootstrap=bootstrap,
        client_id=given.value(CLIENT_ID) or group_id or "zkgroup",
        fetch_bytes_max=given.value(FETCH_BYTES),
        response_bytes_max=given.value(FETCH_RESPONSE_BYTES),
        fetch_wait_max_ms=wait_ms,
        request_timeout_ms=timeout_ms,
        deadline_s=given.value(POLL_TIMEOUT) / 1000,
        isolation=given.value(ISOLATION),
        fail_on_data_loss=given.value(FAIL_ON_DATA_LOSS),
        client=_client_settings(given),
        security=security,
    )


def _client_settings(given: Given) -> ClientSettings:
    retry = _growing(given, RETRY_BACKOFF, RETRY_BACKOFF_MAX)
    reconnect = _growing(given, RECONNECT_BACKOFF, RECONNECT_BACKOFF_MAX)
    return ClientSettings(
        rack=given.value(RACK) or "",
        dns_lookup=given.value(DNS_LOOKUP),
        idle_max_ms=given.value(IDLE_MAX),
        reconnect_backoff_ms=reconnect[0],
        reconnect_backoff_max_ms=reconnect[1],
        retry_backoff_ms=retry[0],
        retry_backoff_max_ms=retry[1],
        connect_timeout_ms=given.value(CONNECT_TIMEOUT),
        send_buffer_bytes=_size(given.value(SEND_BUFFER)),
        receive_buffer_bytes=_size(given.value(RECEIVE_BUFFER)),
        look_up_retries=given.value(LOOK_UP_RETRIES),
        look_up_pause_ms=given.value(LOOK_UP_PAUSE),
        metadata_refresh_ms=given.value(METADATA_REFRESH),
    )


def _answer_times_ms(given: Given) -> tuple[int, int]:
    """How long a broker may hold back an answer, and how long that is waited for. The one that is
    given alone counts, and the default of the other gives way to it.
    """
    wait_ms, timeout_ms = given.value(FETCH_WAIT), given.value(REQUEST_TIMEOUT)
    if wait_ms < timeout_ms:
        return wait_ms, timeout_ms
    if FETCH_WAIT not in given:
        return timeout_ms // 2, timeout_ms
    if REQUEST_TIMEOUT not in given:
        return wait_ms, wait_ms + timeout_ms
    raise given.clash(
        FETCH_WAIT,
        REQUEST_TIMEOUT,
        "A broker must answer before it is given up: make the first less than the second",
    )


def _growing(given: Given, first: Option[int], most: Option[int]) -> tuple[int, int]:
    """The one that is given alone counts, and the default of the other gives way to it."""
    first_ms, most_ms = given.value(first), given.value(most)
    if first_ms <= most_ms:
        return first_ms, most_ms
    if first in given and most in given:
        raise given.clash(
            first, most, "The first pause is the shortest: make it no longer than the longest"
        )
    alone_ms = first_ms if first in given else most_ms
    return alone_ms, alone_ms


def _size(given: int) -> int | None:
    return given if given > 0 else None
