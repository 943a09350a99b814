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
_BATCHES = "The trigger interval and 'maxOffsetsPerTrigger' say how large batches are"
_COMMITS = (
    "offsets are committed at each boundary between two batches, as soon as Spark has "
    "finished the batch"
)
_NOTHING_TO_COLLECT = (
    "a batch ends at offsets that are there already, so a broker has nothing to collect"
)
_NO_CHANNEL = "there is no channel to an offset manager in Kafka: offsets are kept in ZooKeeper"
_ASKED_AGAIN = "offsets are asked for again at the next boundary when a broker does not answer"
_PATTERNS = "Use 'subscribe', 'subscribePattern' or 'excludePattern'"
_NO_ENDS = "a stream has no end"
_ENDS = "Stop the query, or run it with trigger(availableNow=True), which ends at today's end"
_START = "Use 'startingOffsets' (earliest, latest or offsets as JSON)"

FIXED: Final = (
    Fixed(
        "protocol",
        "zookeeper",
        "the one way to be a member of a group is the zookeeper protocol",
        "Leave it out, or give zookeeper",
    ),
    Fixed(
        "offsets.storage",
        "zookeeper",
        "offsets are kept in ZooKeeper, where the claims on partitions are",
        "Leave it out, or give zookeeper, and set the other members of the group to it as well",
    ),
    Fixed(
        "dual.commit.enabled",
        "false",
        "offsets are committed to ZooKeeper alone",
        "Leave it out, or give false",
    ),
    Fixed(
        "kafka.security.protocol",
        "PLAINTEXT",
        "brokers are spoken to without encryption and authentication",
        "Leave it out, or give PLAINTEXT, and name brokers' plaintext listeners",
    ),
)

# Names of the JVM consumers.
_JVM: Final = (
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
        "a stream without new records plans no batch, and goes on",
        "To end when all is read, run the query with trigger(availableNow=True)",
    ),
    Refused(
        "socket.receive.buffer.bytes",
        "the operating system sizes the buffers of connections, and does it better",
        _LEAVE_OUT,
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
        "'threads' says how many tasks read at a time",
    ),
    Refused(
        "fetch.min.bytes",
        _NOTHING_TO_COLLECT,
        _BATCHES,
    ),
    Refused("offsets.channel.backoff.ms", _NO_CHANNEL, _LEAVE_OUT),
    Refused("offsets.channel.socket.timeout.ms", _NO_CHANNEL, _LEAVE_OUT),
    Refused(
        "offsets.commit.max.retries",
        "a commit whose answer was lost is looked up in ZooKeeper and settled, without a limit",
        _LEAVE_OUT,
    ),
)

# Names of the newer Kafka consumer, which people give with or without "kafka." in front.
_NEWER: Final = (
    Refused("enable.auto.commit", _COMMITS, _LEAVE_OUT),
    Refused(
        "session.timeout.ms",
        "the session is ZooKeeper's",
        "Use 'zookeeper.session.timeout.ms'",
    ),
    Refused(
        "heartbeat.interval.ms",
        "the session is ZooKeeper's, and its client chooses when to be heard",
        "Use 'zookeeper.session.timeout.ms'",
    ),
    Refused("max.poll.records", "records are not polled", "Use 'maxOffsetsPerTrigger'"),
    Refused("group.instance.id", "a static member is named otherwise", "Use 'member.id'"),
    Refused("key.deserializer", "keys come as bytes", "Cast or decode the column 'key'"),
    Refused("value.deserializer", "values come as bytes", "Cast or decode the column 'value'"),
    Refused("interceptor.classes", "no JVM consumer is run that could call them", _LEAVE_OUT),
)

# Names of Spark's own Kafka source.
_SPARK: Final = (
    Refused("assign", "the group decides who reads which partition", _PATTERNS),
    Refused("startingTimestamp", "a start is given by offsets", _START),
    Refused("startingOffsetsByTimestamp", "a start is given by offsets", _START),
    Refused("startingOffsetsByTimestampStrategy", "a start is given by offsets", _START),
    Refused("endingOffsets", _NO_ENDS, _ENDS),
    Refused("endingTimestamp", _NO_ENDS, _ENDS),
    Refused("endingOffsetsByTimestamp", _NO_ENDS, _ENDS),
    Refused("minOffsetsPerTrigger", "no batch is held back", "Use a longer trigger interval"),
    Refused("maxTriggerDelay", "no batch is held back", "Use a longer trigger interval"),
    Refused(
        "minPartitions",
        "there is one task for each thread that has something to read",
        "Raise 'threads'",
    ),
    Refused(
        "maxRecordsPerPartition",
        "there is one task for each thread that has something to read",
        "Use 'maxOffsetsPerTrigger', or raise 'threads'",
    ),
    Refused("groupIdPrefix", "the group is one you name", "Use 'group.id'"),
    Refused("kafkaConsumer.pollTimeoutMs", "no JVM consumer is run", "Use 'socket.timeout.ms'"),
    Refused("fetchOffset.numRetries", _ASKED_AGAIN, _LEAVE_OUT),
    Refused("fetchOffset.retryIntervalMs", _ASKED_AGAIN, _LEAVE_OUT),
    Refused("kafka.group.id", "the group is one of ZooKeeper's", "Use 'group.id'"),
    Refused("kafka.auto.offset.reset", "it is refused by Spark's Kafka source as well", _START),
    Refused(
        "kafka.partition.assignment.strategy",
        "its values are classes of a JVM",
        "Use 'partition.assignment.strategy' (range or roundrobin)",
    ),
    Refused("bootstrap.servers", "it has another name here", "Use 'kafka.bootstrap.servers'"),
)

REFUSED: Final = (
    *_JVM,
    *_NEWER,
    *(Refused(f"kafka.{refused.name}", refused.why, refused.instead) for refused in _NEWER),
    Refused(
        "kafka.receive.buffer.bytes",
        "the operating system sizes the buffers of connections, and does it better",
        _LEAVE_OUT,
    ),
    Refused("kafka.fetch.min.bytes", _NOTHING_TO_COLLECT, _BATCHES),
    *_SPARK,
)

OTHERS_OF_KAFKA: Final = Refused(
    "kafka.*",
    "options are not handed on to a Kafka client of the JVM, because none is run",
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
