"""Names that people bring from the JVM consumers and from Spark's Kafka source: no options here.

Nothing is accepted that would have no effect. Each refused name says why, and what takes its place;
a fixed one is accepted with the one value that says what happens anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Refused:
    name: str
    why: str
    instead: str


@dataclass(frozen=True)
class Fixed:
    """Accepted with `value` alone (in any case)."""

    name: str
    value: str
    why: str
    instead: str


_LEAVE_OUT = "Leave it out"
_BATCHES = (
    "The trigger interval, 'minOffsetsPerTrigger' and 'maxOffsetsPerTrigger' say how large batches "
    "are"
)
_COMMITS = (
    "offsets are committed at each boundary between two batches, as soon as Spark has "
    "finished the batch"
)
_NOTHING_TO_COLLECT = (
    "a batch ends at offsets that are there already, so a broker has nothing to collect"
)
_NO_CHANNEL = (
    "offsets in Kafka are a copy, which is written within a fixed time limit and again later"
)
_START = "Use 'startingOffsets' (earliest, latest or offsets as JSON) or 'startingTimestamp'"
_IN_JAAS = "username and password are set in one line, as for Kafka's own clients"
_USE_JAAS = (
    "Use 'kafka.sasl.jaas.config', such as "
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="..." password="...";'
)
_PEM_OPENS = "only PEM files are read, and a PEM file has no password"
_MAKE_PEM = "Convert a JKS or PKCS12 store to PEM (docs/security.md), and leave this option out"
_OF_A_JVM = "its values are classes or parts of a JVM"
_FOLLOWS = "it follows from 'zookeeper.ssl.client.enable' and 'zookeeper.sasl.jaas.config'"

FIXED: Final = (
    Fixed(
        "kafka.check.crcs",
        "true",
        "the checksum of every record batch is checked",
        "Leave it out, or give true",
    ),
)

# Names of the newer Kafka consumer, which people give with or without "kafka." in front.
_NEWER: Final = (
    Refused("enable.auto.commit", _COMMITS, _LEAVE_OUT),
    Refused("max.poll.records", "records are not polled", "Use 'maxOffsetsPerTrigger'"),
    Refused("group.instance.id", "a static member is named by another option", "Use 'member.id'"),
    Refused("key.deserializer", "keys come as bytes", "Cast or decode the column 'key'"),
    Refused("value.deserializer", "values come as bytes", "Cast or decode the column 'value'"),
    Refused("interceptor.classes", "no JVM consumer is run that could call them", _LEAVE_OUT),
)

REFUSED: Final = (
    # Names of the JVM consumers.
    Refused("auto.commit.enable", _COMMITS, _LEAVE_OUT),
    Refused(
        "auto.commit.interval.ms",
        _COMMITS,
        "The trigger interval of the query is the interval of commits",
    ),
    Refused(
        "rebalance.max.retries",
        "a partition that is not free yet is watched and claimed when it is, without a limit",
        "'rebalance.wait.ms' says how long a query that ends by itself waits at its start",
    ),
    Refused(
        "rebalance.backoff.ms",
        "nothing is retried after a pause: a partition that is not free yet is watched",
        "'rebalance.wait.ms' says how long a query that ends by itself waits at its start",
    ),
    Refused(
        "zookeeper.sync.time.ms",
        "a follower's lag is not waited out: ZooKeeper is asked to catch up before a decision",
        _LEAVE_OUT,
    ),
    Refused(
        "consumer.timeout.ms",
        "a stream without new records plans no batch, and continues",
        "To end when all is read, run the query with trigger(availableNow=True)",
    ),
    Refused(
        "refresh.leader.backoff.ms",
        "pauses before a new leader is asked for grow by themselves, so that many tasks that lose "
        "one broker do not ask at the same time",
        _LEAVE_OUT,
    ),
    Refused("queued.max.message.chunks", "tasks keep no queue of fetched chunks", _BATCHES),
    Refused(
        "num.consumer.fetchers",
        "each Spark task fetches for itself",
        "Use 'threads', the number of tasks that read at a time",
    ),
    Refused("fetch.min.bytes", _NOTHING_TO_COLLECT, _BATCHES),
    Refused("offsets.channel.backoff.ms", _NO_CHANNEL, _LEAVE_OUT),
    Refused("offsets.channel.socket.timeout.ms", _NO_CHANNEL, _LEAVE_OUT),
    Refused(
        "offsets.commit.max.retries",
        "a commit whose answer was lost is looked up in ZooKeeper and settled, without a limit",
        _LEAVE_OUT,
    ),
    *_NEWER,
    *(Refused(f"kafka.{refused.name}", refused.why, refused.instead) for refused in _NEWER),
    Refused("kafka.fetch.min.bytes", _NOTHING_TO_COLLECT, _BATCHES),
    # Names of Spark's own Kafka source.
    Refused(
        "groupIdPrefix",
        "all members of a group use the same id, so none can be generated for each query",
        "Use 'group.id'",
    ),
    Refused("kafka.auto.offset.reset", "it is refused by Spark's Kafka source as well", _START),
    Refused("bootstrap.servers", "it has another name here", "Use 'kafka.bootstrap.servers'"),
    # Of TLS and SASL, and what other clients of Kafka call them.
    Refused("kafka.sasl.username", _IN_JAAS, _USE_JAAS),
    Refused("kafka.sasl.password", _IN_JAAS, _USE_JAAS),
    Refused("kafka.sasl.mechanisms", "it has another name here", "Use 'kafka.sasl.mechanism'"),
    Refused(
        "kafka.ssl.ca.location",
        "it has another name here",
        "Use 'kafka.ssl.truststore.location' with 'kafka.ssl.truststore.type' PEM",
    ),
    Refused("kafka.ssl.truststore.password", _PEM_OPENS, _MAKE_PEM),
    Refused("kafka.ssl.keystore.password", _PEM_OPENS, "Use 'kafka.ssl.key.password' for the key"),
    Refused(
        "kafka.ssl.cipher.suites",
        "Java and OpenSSL have other names for them",
        "Use 'kafka.ssl.enabled.protocols', or let the brokers choose",
    ),
    Refused("kafka.ssl.protocol", _OF_A_JVM, "Use 'kafka.ssl.enabled.protocols'"),
    Refused("kafka.ssl.provider", _OF_A_JVM, _LEAVE_OUT),
    Refused("kafka.ssl.engine.factory.class", _OF_A_JVM, _LEAVE_OUT),
    Refused(
        "kafka.sasl.client.callback.handler.class",
        _OF_A_JVM,
        "Leave it out: 'kafka.sasl.mechanism' says how to log in",
    ),
    Refused(
        "kafka.sasl.login.callback.handler.class",
        _OF_A_JVM,
        "Leave it out: 'kafka.sasl.oauthbearer.token.endpoint.url' alone says where tokens come "
        "from; or use 'oauth.token.function'",
    ),
    # Of TLS and SASL to ZooKeeper, by the names of Kafka's brokers and of ZooKeeper's own clients.
    Refused("zookeeper.clientCnxnSocket", _FOLLOWS, _LEAVE_OUT),
    Refused("zookeeper.client.secure", _FOLLOWS, "Use 'zookeeper.ssl.client.enable'"),
    Refused("zookeeper.sasl.client", _FOLLOWS, _LEAVE_OUT),
    Refused(
        "zookeeper.sasl.clientconfig",
        "no JAAS file is read",
        "Put the line of that section into 'zookeeper.sasl.jaas.config'",
    ),
    Refused("zookeeper.ssl.truststore.password", _PEM_OPENS, _MAKE_PEM),
    Refused(
        "zookeeper.ssl.hostnameVerification",
        "it has another name here",
        "Use 'zookeeper.ssl.endpoint.identification.algorithm'",
    ),
    Refused(
        "zookeeper.ssl.cipher.suites",
        "Java and OpenSSL have other names for them",
        "Use 'zookeeper.ssl.enabled.protocols', or let the servers choose",
    ),
    Refused("zookeeper.ssl.protocol", _OF_A_JVM, "Use 'zookeeper.ssl.enabled.protocols'"),
    Refused("zookeeper.ssl.crl.enable", "revoked certificates are not looked for", _LEAVE_OUT),
    Refused("zookeeper.ssl.ocsp.enable", "revoked certificates are not looked for", _LEAVE_OUT),
)

OTHERS_OF_KAFKA: Final = Refused(
    "kafka.*",
    "it would have no effect here, where no Kafka client of the JVM is run",
    "Use the options of zkgroup's own table",
)

# What Spark itself puts among the options: the argument of load(), and for a table of the catalogue
# its properties, each option once more with "option." in front.
ADDED_BY_SPARK: Final = frozenset(
    {
        "path",
        "paths",
        "provider",
        "owner",
        "location",
        "comment",
        "collation",
        "external",
        "is_managed_location",
    }
)
ADDED_BY_SPARK_PREFIX: Final = "option."
