"""How connections to the brokers are made, kept and tried again, under the names of Kafka's own
clients and of Spark's Kafka source.
"""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import values
from pyspark_zkgroup.options.option import Option, Section

SECTION: Final[Section] = "Connections to the brokers"
_BUFFER = values.whole_number(-1, values.INT_MAX, "bytes")

RACK: Final[Option[str | None]] = Option(
    "kafka.client.rack",
    SECTION,
    values.NAME,
    None,
    "Where this client stands (the brokers' broker.rack). Records are then fetched from a replica "
    "in that rack, if the brokers name one (their replica.selector.class), else from the leaders.",
)
POLL_TIMEOUT = Option(
    "kafkaConsumer.pollTimeoutMs",
    SECTION,
    values.duration_ms(high=24 * values.HOUR_MS),
    120_000,
    "How long a task waits for a range that makes no progress (no leader, no broker, no data) "
    "before it fails, and is tried again by Spark.",
)
LOOK_UP_RETRIES: Final[Option[int | None]] = Option(
    "fetchOffset.numRetries",
    SECTION,
    values.whole_number(0, values.INT_MAX),
    None,
    "How often the driver asks again, at one boundary, for log ends that were not answered.",
    default_text="as often as there is time for",
)
LOOK_UP_PAUSE: Final[Option[int | None]] = Option(
    "fetchOffset.retryIntervalMs",
    SECTION,
    values.duration_ms(low=0),
    None,
    "The pause between two such tries.",
    default_text="kafka.retry.backoff.ms, growing",
)
RETRY_BACKOFF = Option(
    "kafka.retry.backoff.ms",
    SECTION,
    values.duration_ms(),
    50,
    "The first pause before a broker is asked again.",
)
RETRY_BACKOFF_MAX = Option(
    "kafka.retry.backoff.max.ms",
    SECTION,
    values.duration_ms(),
    2000,
    "The longest pause before a broker is asked again.",
)
RECONNECT_BACKOFF = Option(
    "kafka.reconnect.backoff.ms",
    SECTION,
    values.duration_ms(),
    50,
    "The first pause before a broker that could not be reached is tried again.",
)
RECONNECT_BACKOFF_MAX = Option(
    "kafka.reconnect.backoff.max.ms",
    SECTION,
    values.duration_ms(),
    1000,
    "The longest pause before such a broker is tried again.",
)
CONNECT_TIMEOUT: Final[Option[int | None]] = Option(
    "kafka.socket.connection.setup.timeout.ms",
    SECTION,
    values.duration_ms(),
    None,
    "How long a connection to a broker may take to be made.",
    default_text="that of socket.timeout.ms",
)
IDLE_MAX = Option(
    "kafka.connections.max.idle.ms",
    SECTION,
    values.duration_ms(low=1000, high=24 * values.HOUR_MS),
    540_000,
    "After how long without use a connection is closed.",
)
SEND_BUFFER = Option(
    "kafka.send.buffer.bytes",
    SECTION,
    _BUFFER,
    -1,
    "The operating system's buffer for what is sent on one connection; -1 and 0: its own choice.",
)
RECEIVE_BUFFER = Option(
    "kafka.receive.buffer.bytes",
    SECTION,
    _BUFFER,
    -1,
    "The operating system's buffer for what is received on one connection; -1 and 0: its own "
    "choice, which grows as needed and is rarely beaten.",
)
DNS_LOOKUP = Option(
    "kafka.client.dns.lookup",
    SECTION,
    values.one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "use_all_dns_ips",
    "How names of brokers that stand for several addresses are taken.",
)

OPTIONS: Final = (
    RACK,
    POLL_TIMEOUT,
    LOOK_UP_RETRIES,
    LOOK_UP_PAUSE,
    RETRY_BACKOFF,
    RETRY_BACKOFF_MAX,
    RECONNECT_BACKOFF,
    RECONNECT_BACKOFF_MAX,
    CONNECT_TIMEOUT,
    IDLE_MAX,
    SEND_BUFFER,
    RECEIVE_BUFFER,
    DNS_LOOKUP,
)
