"""Of the group, and of the member in ZooKeeper."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.connect_string import ConnectString
from pyspark_zkgroup.options import values
from pyspark_zkgroup.options.option import REQUIRED, Option, Section

SECTION: Final[Section] = "ZooKeeper and the group"

CONNECT: Final[Option[ConnectString]] = Option(
    "zookeeper.connect",
    SECTION,
    values.CONNECT_STRING,
    REQUIRED,
    "The servers of the ensemble (some may be down), and the chroot below which brokers and "
    "consumers keep their nodes. The chroot must exist.",
    default_text="required, but not with protocol=kafka or light",
)
GROUP_ID: Final[Option[str]] = Option(
    "group.id",
    SECTION,
    values.GROUP_ID,
    REQUIRED,
    "The consumer group. Queries with the same group id, and JVM consumers with it, share the "
    "partitions and the committed offsets. A batch read joins nothing: it starts at the group's "
    "offsets, or goes without a group, and then where the starting options say.",
    default_text="required, but not for a batch read",
)
MEMBER_ID: Final[Option[str | None]] = Option(
    "member.id",
    SECTION,
    values.NAME,
    None,
    "Makes the membership static: a restarted query with the same id takes over from its "
    "predecessor at once. The consumer id is then group.id, an underscore and this id. Two "
    "queries that run at a time need two ids.",
    default_text="a new one for each start, from host, time and chance",
)
CHECKPOINT: Final[Option[str | None]] = Option(
    "checkpointLocation",
    SECTION,
    values.CHECKPOINT,
    None,
    "The same path as the writer's checkpointLocation (Spark does not tell it to sources). With "
    "it a query that is stopped can see in Spark's commit log that its last batch is done, and "
    "commit it before it leaves; without it, it leaves that batch uncommitted.",
)
STRATEGY = Option(
    "partition.assignment.strategy",
    SECTION,
    values.one_of("range", "roundrobin", "cooperative-sticky"),
    "range",
    "How partitions are given to the threads of the group (with protocol=kafka: to its members). "
    "All members must use the same. cooperative-sticky, which moves as little as it must and lets "
    "members read on meanwhile, is for protocol=kafka only.",
    default_text="range; with protocol=kafka cooperative-sticky",
)
ORDER = Option(
    "partition.assignment.order",
    SECTION,
    values.one_of("new", "old"),
    "new",
    "The order in which roundrobin takes partitions: that of JVM consumers up to 0.11 (old) or "
    "from 1.0 on (new). All members must use the same. For range there is one order only.",
)
OFFSETS_STORAGE = Option(
    "offsets.storage",
    SECTION,
    values.one_of("zookeeper", "kafka"),
    "zookeeper",
    "kafka: the group's offsets are kept in Kafka too, where kafka-consumer-groups and lag "
    "exporters look. Each commit is first made in ZooKeeper, which fences it, then copied. Where "
    "ZooKeeper has no offset of a partition, or an older one than somebody else has committed to "
    "Kafka, a query begins at Kafka's. More in docs/operations.md.",
)
DUAL_COMMIT: Final[Option[bool | None]] = Option(
    "dual.commit.enabled",
    SECTION,
    values.FLAG,
    None,
    "Only with offsets.storage=kafka, and alike in all members: whether those who commit to Kafka "
    "commit to ZooKeeper as well. zkgroup members always do. false: JVM members of the group "
    "commit to Kafka alone, so at each claim an offset there counts that no zkgroup member has "
    "written.",
    default_text="true if offsets.storage is kafka, else false",
)
REBALANCE_WAIT: Final[Option[int | None]] = Option(
    "rebalance.wait.ms",
    SECTION,
    values.duration_ms(low=0),
    None,
    "How long a query that ends by itself (availableNow, once) waits at its start for partitions "
    "that others have yet to let go, or whose dead owner's session has yet to end. After that it "
    "goes on with what it has. A query that runs on does not wait: it takes them when they are "
    "free.",
    default_text="the session's timeout + 2000",
)
MAX_POLL_INTERVAL = Option(
    "max.poll.interval.ms",
    SECTION,
    values.duration_ms(low=0, high=24 * values.HOUR_MS),
    0,
    "How long the driver may be silent (stopped, hanging, or in one batch without an end) before "
    "the member gives up its claims, so that others read on; it joins again when the driver is "
    "heard. 0: for ever. Must be longer than the longest batch and the trigger interval: a batch "
    "that outlasts it comes twice.",
    default_text="0; with protocol=kafka 300000",
)
REBALANCE_CALLBACK: Final[Option[str | None]] = Option(
    "rebalance.callback",
    SECTION,
    values.FUNCTION_NAME,
    None,
    "A function of yours that the planner calls on the driver, between two batches, as "
    "function(event, partitions): `release` before partitions are given up, `claim` after they "
    "have been taken, `loss` when they are gone already; partitions are pairs of topic and number. "
    "What it raises is logged and ends nothing; while it runs, the query waits.",
)
SESSION_TIMEOUT = Option(
    "zookeeper.session.timeout.ms",
    SECTION,
    values.duration_ms(),
    6000,
    "How long ZooKeeper keeps the claims of a member it no longer hears of. The servers may "
    "grant less or more (2 to 20 of their ticks, unless set otherwise).",
)
CONNECTION_TIMEOUT: Final[Option[int | None]] = Option(
    "zookeeper.connection.timeout.ms",
    SECTION,
    values.duration_ms(),
    None,
    "How long to try to reach ZooKeeper before a query that starts fails.",
    default_text="that of zookeeper.session.timeout.ms",
)
AUTH = Option(
    "zookeeper.auth",
    SECTION,
    values.AUTH,
    (),
    "What the member authenticates with to ZooKeeper. Never shown in messages; `${env:NAME}` or "
    "`${directory:/path:file}` in it keeps a password out of Spark's plans.",
    default_text="none",
    secret=True,
)
SET_ACL = Option(
    "zookeeper.set.acl",
    SECTION,
    values.FLAG,
    False,
    "true: owners and offsets made by this member may be read by all, but changed only by "
    "members that ZooKeeper knows as the same: by zookeeper.auth, a login by SASL or a client "
    "certificate. One of these must be given.",
)

OPTIONS: Final = (
    CONNECT,
    GROUP_ID,
    MEMBER_ID,
    CHECKPOINT,
    STRATEGY,
    ORDER,
    OFFSETS_STORAGE,
    DUAL_COMMIT,
    REBALANCE_WAIT,
    MAX_POLL_INTERVAL,
    REBALANCE_CALLBACK,
    SESSION_TIMEOUT,
    CONNECTION_TIMEOUT,
    AUTH,
    SET_ACL,
)
