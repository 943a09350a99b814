"""The one table of options: name, rule, default and text. Case does not matter in names.

`TABLE` has the options. `OLD_NAMES` are names of the JVM consumers and of Spark's Kafka source that
stand for one of them. Names that are known but not options are in option_refusals.py.
docs/options.md is made from all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, TypeVar

from pyspark_zkgroup import option_values as values
from pyspark_zkgroup.connect_string import Address, ConnectString
from pyspark_zkgroup.group.positions import StartingOffsets
from pyspark_zkgroup.option_values import Rule

T = TypeVar("T")
Section = Literal["ZooKeeper and the group", "Topics", "Where and how much to read", "Kafka"]

REQUIRED: Final[Any] = object()
"""The default of an option that must be given."""

NO_THREADS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Option(Generic[T]):
    name: str
    section: Section
    rule: Rule[T]
    default: T
    text: str
    default_text: str = ""
    secret: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def default_shown(self) -> str:
        if self.default_text or self.required:
            return self.default_text or "required"
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "none" if self.default is None else str(self.default)


@dataclass(frozen=True, eq=False)
class OldName(Generic[T]):
    """Another name of an option; with a rule of its own where its values have other names too."""

    name: str
    option: Option[T]
    own_rule: Rule[T] | None = None

    @property
    def rule(self) -> Rule[T]:
        return self.own_rule or self.option.rule


ZOOKEEPER: Final = "ZooKeeper and the group"
TOPICS: Final = "Topics"
READING: Final = "Where and how much to read"
KAFKA: Final = "Kafka"

CONNECT: Final[Option[ConnectString]] = Option(
    "zookeeper.connect",
    ZOOKEEPER,
    values.CONNECT_STRING,
    REQUIRED,
    "The servers of the ensemble (some may be down), and the chroot below which brokers and "
    "consumers keep their nodes. The chroot must exist.",
)
SESSION_TIMEOUT = Option(
    "zookeeper.session.timeout.ms",
    ZOOKEEPER,
    values.duration_ms(),
    6000,
    "How long ZooKeeper keeps the claims of a member it no longer hears of. The servers may "
    "grant less or more (2 to 20 of their ticks, unless set otherwise).",
)
CONNECTION_TIMEOUT: Final[Option[int | None]] = Option(
    "zookeeper.connection.timeout.ms",
    ZOOKEEPER,
    values.duration_ms(),
    None,
    "How long to try to reach ZooKeeper before a query that starts fails.",
    default_text="that of zookeeper.session.timeout.ms",
)
AUTH = Option(
    "zookeeper.auth",
    ZOOKEEPER,
    values.AUTH,
    (),
    "What the member authenticates with to ZooKeeper. Never shown in messages.",
    default_text="none",
    secret=True,
)
SET_ACL = Option(
    "zookeeper.set.acl",
    ZOOKEEPER,
    values.FLAG,
    False,
    "true: nodes made by this member may be read by all, but changed only by members with the "
    "same zookeeper.auth, which must be given.",
)
GROUP_ID: Final[Option[str]] = Option(
    "group.id",
    ZOOKEEPER,
    values.GROUP_ID,
    REQUIRED,
    "The consumer group. Queries with the same group id, and JVM consumers with it, share the "
    "partitions and the committed offsets.",
)
MEMBER_ID: Final[Option[str | None]] = Option(
    "member.id",
    ZOOKEEPER,
    values.NAME,
    None,
    "Makes the membership static: a restarted query with the same id takes over from its "
    "predecessor at once. The consumer id is then group.id, an underscore and this id. Two "
    "queries that run at a time need two ids.",
    default_text="a new one for each start, from host, time and chance",
)
CLIENT_ID: Final[Option[str | None]] = Option(
    "client.id",
    KAFKA,
    values.NAME,
    None,
    "The name under which the brokers log this query's requests and count its quotas.",
    default_text="that of group.id",
)
CHECKPOINT: Final[Option[str | None]] = Option(
    "checkpointLocation",
    ZOOKEEPER,
    values.CHECKPOINT,
    None,
    "The same path as the writer's checkpointLocation (Spark does not tell it to sources). With "
    "it a query that is stopped can see in Spark's commit log that its last batch is done, and "
    "commit it before it leaves; without it, it leaves that batch uncommitted.",
)
STRATEGY = Option(
    "partition.assignment.strategy",
    ZOOKEEPER,
    values.one_of("range", "roundrobin"),
    "range",
    "How partitions are given to the threads of the group. All members must use the same.",
)
ORDER = Option(
    "partition.assignment.order",
    ZOOKEEPER,
    values.one_of("new", "old"),
    "new",
    "The order in which roundrobin takes partitions: that of JVM consumers up to 0.11 (old) or "
    "from 1.0 on (new). All members must use the same. For range there is one order only.",
)
REBALANCE_WAIT: Final[Option[int | None]] = Option(
    "rebalance.wait.ms",
    ZOOKEEPER,
    values.duration_ms(low=0),
    None,
    "How long a query that ends by itself (availableNow, once) waits at its start for partitions "
    "that others have yet to let go, or whose dead owner's session has yet to end. After that it "
    "goes on with what it has. A query that runs on does not wait: it takes them when they are "
    "free.",
    default_text="zookeeper.session.timeout.ms + 2000",
)
MAX_POLL_INTERVAL = Option(
    "max.poll.interval.ms",
    ZOOKEEPER,
    values.duration_ms(low=0, high=24 * values.HOUR_MS),
    0,
    "How long the driver may be silent (stopped, hanging, or in one batch without an end) before "
    "the member gives up its claims, so that others read on; it joins again when the driver is "
    "heard. 0: for ever. Must be longer than the longest batch and the trigger interval: a batch "
    "that outlasts it comes twice.",
)
SUBSCRIBE: Final[Option[tuple[str, ...] | None]] = Option(
    "subscribe",
    TOPICS,
    values.TOPICS,
    None,
    "Topics to read. Exactly one of subscribe, subscribePattern and excludePattern is given.",
)
SUBSCRIBE_PATTERN: Final[Option[str | None]] = Option(
    "subscribePattern",
    TOPICS,
    values.EXPRESSION,
    None,
    "Read the topics whose whole name matches (a white list), also those made later. A comma "
    "stands for |, and blanks are dropped, as in the JVM consumers. An expression that Java "
    "would read differently is refused.",
)
EXCLUDE_PATTERN: Final[Option[str | None]] = Option(
    "excludePattern",
    TOPICS,
    values.EXPRESSION,
    None,
    "Read all topics but those whose whole name matches (a black list).",
)
EXCLUDE_INTERNAL = Option(
    "exclude.internal.topics",
    TOPICS,
    values.FLAG,
    True,
    "Leave `__consumer_offsets` and `__transaction_state` out of what a pattern means. Topics "
    "named by subscribe are never left out.",
)
THREADS = Option(
    "threads",
    TOPICS,
    values.whole_number(1, values.THREADS_MAX),
    4,
    "Consumer threads for each topic: the most Spark tasks of this query that read at a time. "
    "Also the query's weight in the group: partitions are shared out by threads.",
)
TOPIC_THREADS = Option(
    "topic.threads",
    TOPICS,
    values.THREADS_BY_TOPIC,
    NO_THREADS,
    "Threads for single topics of subscribe, in place of threads. Not with a pattern.",
    default_text="none",
)
STARTING_OFFSETS = Option(
    "startingOffsets",
    READING,
    values.STARTING_OFFSETS,
    StartingOffsets("latest"),
    "Where to start in a partition for which the group has no offset. JSON must then name every "
    "partition of its topic. Partitions and topics that appear after a query has begun "
    "start at earliest, whatever is set here.",
    default_text="latest",
)
FAIL_ON_DATA_LOSS = Option(
    "failOnDataLoss",
    READING,
    values.FLAG,
    True,
    "What happens when records are gone before they were read (retention has passed the group's "
    "offset, a topic was deleted or made anew). true: the query fails with an error that names "
    "partition, offsets and gap. false: it warns, counts the gap in its progress, and goes on from "
    "the log's start.",
)
MAX_OFFSETS: Final[Option[int | None]] = Option(
    "maxOffsetsPerTrigger",
    READING,
    values.whole_number(1, values.LONG_MAX),
    None,
    "The most offsets of one batch, shared over partitions by their backlog. Each partition "
    "with a backlog moves by one offset at least.",
)
FETCH_BYTES = Option(
    "fetch.message.max.bytes",
    KAFKA,
    values.whole_number(1, values.INT_MAX, "bytes"),
    4194304,
    "The most bytes of one partition in one answer of a broker. A larger record is read all the "
    "same, alone.",
)
FETCH_RESPONSE_BYTES = Option(
    "fetch.max.bytes",
    KAFKA,
    values.whole_number(1, values.INT_MAX, "bytes"),
    16777216,
    "The most bytes one task asks of all its partitions at a time. While they come in, as much "
    "again may be in memory on its way to Spark.",
)
FETCH_WAIT = Option(
    "fetch.wait.max.ms",
    KAFKA,
    values.duration_ms(),
    100,
    "How long a broker may hold back its answer when it has nothing yet of what it was asked for. "
    "Less than socket.timeout.ms.",
)
REQUEST_TIMEOUT = Option(
    "socket.timeout.ms",
    KAFKA,
    values.duration_ms(),
    30000,
    "How long to wait for a broker's answer before the connection is given up and made anew.",
)
ISOLATION = Option(
    "kafka.isolation.level",
    KAFKA,
    values.one_of("read_uncommitted", "read_committed"),
    "read_uncommitted",
    "read_committed leaves out the records of aborted transactions, and reads up to the first "
    "record of the oldest open one. read_uncommitted reads all records alike.",
)
INCLUDE_HEADERS = Option(
    "includeHeaders",
    KAFKA,
    values.FLAG,
    False,
    "Give rows a column `headers` of the type array<struct<key:string,value:binary>>: null for a "
    "record without any.",
)
BOOTSTRAP: Final[Option[tuple[Address, ...]]] = Option(
    "kafka.bootstrap.servers",
    KAFKA,
    values.ADDRESSES,
    (),
    "Some brokers of the cluster. Needed only when ZooKeeper does not know the brokers (KRaft).",
    default_text="those registered in ZooKeeper",
)
METADATA_REFRESH = Option(
    "metadata.refresh.ms",
    KAFKA,
    values.duration_ms(low=100, high=24 * values.HOUR_MS),
    30000,
    "How often to ask Kafka for new topics and partitions where ZooKeeper does not tell (KRaft).",
)

TABLE: Final[tuple[Option[Any], ...]] = (
    CONNECT,
    GROUP_ID,
    MEMBER_ID,
    CHECKPOINT,
    STRATEGY,
    ORDER,
    REBALANCE_WAIT,
    MAX_POLL_INTERVAL,
    SESSION_TIMEOUT,
    CONNECTION_TIMEOUT,
    AUTH,
    SET_ACL,
    SUBSCRIBE,
    SUBSCRIBE_PATTERN,
    EXCLUDE_PATTERN,
    EXCLUDE_INTERNAL,
    THREADS,
    TOPIC_THREADS,
    STARTING_OFFSETS,
    FAIL_ON_DATA_LOSS,
    MAX_OFFSETS,
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

OLD_NAMES: Final[tuple[OldName[Any], ...]] = (
    OldName("consumer.id", MEMBER_ID),
    OldName("auto.offset.reset", STARTING_OFFSETS, values.RESET),
    OldName("kafka.client.id", CLIENT_ID),
    OldName("kafka.max.poll.interval.ms", MAX_POLL_INTERVAL),
    OldName("kafka.exclude.internal.topics", EXCLUDE_INTERNAL),
    OldName("kafka.max.partition.fetch.bytes", FETCH_BYTES),
    OldName("kafka.fetch.max.bytes", FETCH_RESPONSE_BYTES),
    OldName("kafka.fetch.max.wait.ms", FETCH_WAIT),
    OldName("kafka.request.timeout.ms", REQUEST_TIMEOUT),
    OldName("kafka.metadata.max.age.ms", METADATA_REFRESH),
    OldName("isolation.level", ISOLATION),
)
