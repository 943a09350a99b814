"""The brokers, and how records are fetched from them."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.connect_string import Address
from pyspark_zkgroup.options import values
from pyspark_zkgroup.options.option import Option, Section

SECTION: Final[Section] = "Kafka"

BOOTSTRAP: Final[Option[tuple[Address, ...]]] = Option(
    "kafka.bootstrap.servers",
    SECTION,
    values.ADDRESSES,
    (),
    "Some brokers of the cluster. Needed only when ZooKeeper does not know the brokers (KRaft), "
    "and with protocol=kafka.",
    default_text="those registered in ZooKeeper",
)
CLIENT_ID: Final[Option[str | None]] = Option(
    "client.id",
    SECTION,
    values.NAME,
    None,
    "The name under which the brokers log this query's requests and count its quotas.",
    default_text="that of group.id",
)
METADATA_REFRESH = Option(
    "metadata.refresh.ms",
    SECTION,
    values.duration_ms(low=100, high=24 * values.HOUR_MS),
    30000,
    "How often to ask Kafka for new topics and partitions where ZooKeeper does not tell (KRaft).",
)
FETCH_BYTES = Option(
    "fetch.message.max.bytes",
    SECTION,
    values.whole_number(1, values.INT_MAX, "bytes"),
    4194304,
    "The most bytes of one partition in one answer of a broker. A larger record is read all the "
    "same, alone.",
)
FETCH_RESPONSE_BYTES = Option(
    "fetch.max.bytes",
    SECTION,
    values.whole_number(1, values.INT_MAX, "bytes"),
    16777216,
    "The most bytes one task asks of all its partitions at a time. While they come in, as much "
    "again may be in memory on its way to Spark.",
)
FETCH_WAIT = Option(
    "fetch.wait.max.ms",
    SECTION,
    values.duration_ms(),
    100,
    "How long a broker may hold back its answer when it has nothing yet of what it was asked for. "
    "Less than socket.timeout.ms.",
    default_text="100, or half of a socket.timeout.ms that is no longer than that",
)
REQUEST_TIMEOUT = Option(
    "socket.timeout.ms",
    SECTION,
    values.duration_ms(),
    30000,
    "How long to wait for a broker's answer before the connection is given up and made anew.",
    default_text="30000, and a fetch.wait.max.ms on top that is no shorter than that",
)
ISOLATION = Option(
    "kafka.isolation.level",
    SECTION,
    values.one_of("read_uncommitted", "read_committed"),
    "read_uncommitted",
    "read_committed leaves out the records of aborted transactions, and reads up to the first "
    "record of the oldest open one. read_uncommitted reads all records alike.",
)
INCLUDE_HEADERS = Option(
    "includeHeaders",
    SECTION,
    values.FLAG,
    False,
    "Give rows a column `headers` of the type array<struct<key:string,value:binary>>: null for a "
    "record without any.",
)

OPTIONS: Final = (
    BOOTSTRAP,
    CLIENT_ID,
    METADATA_REFRESH,
    FETCH_BYTES,
    FETCH_RESPONSE_BYTES,
    FETCH_WAIT,
    REQUEST_TIMEOUT,
    ISOLATION,
    INCLUDE_HEADERS,
)
