"""The group, and this query as a member of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.options.topics import ASSIGN

OffsetsStorage = Literal["zookeeper", "kafka"]

# Nodes next to the groups under /consumers, in which coordinators keep their data.
RESERVED_GROUPS = ("coordinator", "groups")
# The patience beyond a session's end: the JVM consumers' defaults come to the same 8 seconds.
_REBALANCE_WAIT_BEYOND_SESSION_MS = 2000
# As plain consumers have it: a rebalance of the brokers' waits for the slowest batch.
_MAX_POLL_INTERVAL_IN_KAFKA_MS = 300_000


def _group_id(text: str) -> str:
    found = rules.name(text)
    if found in (".", ".."):
        raise ValueError("cannot be the name of a node in ZooKeeper")
    if found in RESERVED_GROUPS:
        raise ValueError("is reserved: coordinators keep their own nodes under that name")
    return found


def _is_opened_by_python(location: str) -> bool:
    scheme, colon, path = location.partition(":")
    if not colon or not re.fullmatch("[a-zA-Z][a-zA-Z0-9+.-]*", scheme):
        return True
    return scheme in ("file", "dbfs") and path.startswith("/")


def _checkpoint(text: str) -> str:
    """As given, if Python on the driver can read Spark's commit log there."""
    if not _is_opened_by_python(rules.not_empty(text)):
        raise ValueError("is not a path that Python on the driver can open")
    return text


GROUP_NAME = Rule(
    f"one or more {rules.NAME_ALLOWED}, except the reserved {' and '.join(RESERVED_GROUPS)}",
    _group_id,
)
CHECKPOINT_PATH = Rule(
    "a path that the driver can open, such as a mount, or a file: or dbfs: address", _checkpoint
)
FUNCTION_NAME = rules.matching(
    r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*",
    "module:function, such as our_caches:moved",
    "is not the name of a module, a colon and the name of a function",
)
BALANCED = "balanced"
ASSIGNORS = rules.meaning_of(
    {
        "range": "range",
        "roundrobin": "roundrobin",
        "org.apache.kafka.clients.consumer.rangeassignor": "range",
        "org.apache.kafka.clients.consumer.roundrobinassignor": "roundrobin",
    },
    "range or roundrobin, or the class of either below org.apache.kafka.clients.consumer",
)

SECTION: Final = Section(__name__, "ZooKeeper and the group")

GROUP_ID: Final[Option[str]] = SECTION.option(
    "group.id", GROUP_NAME, "", default_text="required, except in a batch read"
)
"""The consumer group. Queries and JVM consumers with the same group id share the partitions and the
committed offsets. A batch read does not join the group, but starts at its offsets.
Without group.id, it starts at startingOffsets.
"""
MEMBER_ID = SECTION.optional(
    "member.id",
    rules.NAME,
    default_text="a new one for each start, from host, time and a random part",
    in_batch="refused",
)
"""Makes the membership static: a restarted query with the same id takes over from its predecessor
at once. The consumer id is then group.id, an underscore and this id. Queries that run at the
same time need different ids.
"""
CHECKPOINT = SECTION.optional("checkpointLocation", CHECKPOINT_PATH, in_batch="refused")
"""The same path as the writer's checkpointLocation. It is not required. With it, the last finished
batch is committed when `query.stop()` ends the query: zkgroup then reads there which batches
Spark has finished. `pyspark_zkgroup.stop(query)` [commits](docs/stop.md) without the option: use
it for checkpoints on abfss://, s3://, gs:// or hdfs://, which this option refuses.
"""
STRATEGY = SECTION.option(
    "partition.assignment.strategy",
    rules.one_of(BALANCED, "range", "roundrobin", "cooperative-sticky"),
    BALANCED,
    default_text="balanced; with protocol=kafka cooperative-sticky",
    in_batch="refused",
)
"""How partitions are assigned. balanced gives members equal shares of all topics together. It
applies when every member of the group uses it; until then the group is assigned by range. range
and roundrobin assign to threads as JVM consumers do, and must be the same in all members.
cooperative-sticky moves as few partitions as possible and lets members keep reading meanwhile;
it requires protocol=kafka.
"""
ORDER = SECTION.option(
    "partition.assignment.order", rules.one_of("new", "old"), "new", in_batch="refused"
)
"""The order in which roundrobin takes partitions: that of JVM consumers up to 0.11 (old) or from
1.0 on (new). It must be the same in all members. range has only one order.
"""
OFFSETS_STORAGE: Final[Option[OffsetsStorage]] = SECTION.option(
    "offsets.storage", rules.one_of("zookeeper", "kafka"), "zookeeper"
)
"""kafka: the group's offsets are also kept in Kafka, where kafka-consumer-groups and lag exporters
look. Each commit is first made in ZooKeeper, which fences it, then copied. A query starts at
Kafka's offset if ZooKeeper has none, or if another client has committed a newer one to Kafka.
See [Offsets in Kafka](docs/offsets-in-kafka.md).
"""
DUAL_COMMIT = SECTION.optional(
    "dual.commit.enabled", rules.FLAG, default_text="true if offsets.storage is kafka, else false"
)
"""Whether members that commit to Kafka also commit to ZooKeeper; zkgroup members always do.
Requires offsets.storage=kafka, and must be the same in all members. false: JVM members of the
group commit to Kafka only, so at each claim an offset there counts if no zkgroup member has
written it.
"""
REBALANCE_WAIT = SECTION.optional(
    "rebalance.wait.ms",
    rules.duration_ms(low=0),
    default_text="the session timeout + 2000",
    in_batch="refused",
)
"""How long a query that ends by itself (availableNow, once) waits at its start for partitions that
other members have not released, or whose dead owner's session has not ended. After that it reads
what it has. A query that runs until it is stopped does not wait: it claims such partitions when
they are free. With [protocol=kafka](docs/protocol-kafka.md) any query also waits up to this time,
but at most 2 s, for a rebalance to end. A query that is restarted waits up to session.timeout.ms
plus this time for partitions of its last batch that another member owns.
"""
MAX_POLL_INTERVAL = SECTION.option(
    "max.poll.interval.ms",
    rules.duration_ms(low=0, high=rules.DAY_MS),
    0,
    default_text="0; with protocol=kafka 300000",
    in_batch="refused",
)
"""How long the driver may be silent (stopped, hanging, or in an endless batch) before the member
gives up its claims, so that others read on. It joins again when the driver responds. 0: no
limit. Must be longer than the longest batch and the trigger interval: a longer batch is read
twice.
"""
REBALANCE_CALLBACK = SECTION.optional("rebalance.callback", FUNCTION_NAME)
"""A function that the planner calls on the driver between two batches, as function(event,
partitions). The event is `release` before partitions are given up, `claim` after they were
taken, or `loss` when they are already gone; partitions are pairs of topic and number. Exceptions
are logged and end nothing. The query waits while it runs. Not with protocol=kafka.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Only a batch read may have no group: the id is empty then. `balanced`: by equal shares, once
    all members of the group announce it, and by `strategy` until then.
    """

    id: str
    member_id: str | None
    checkpoint_location: str | None
    strategy: str
    balanced: bool
    order: str
    offsets_storage: OffsetsStorage
    dual_commit: bool
    rebalance_wait_ms: int
    max_poll_interval_ms: int
    rebalance_callback: str | None


def group(given: Given, *, session_timeout_ms: int, in_kafka: bool) -> Group:
    """Defaults depend on the protocol: on its session timeout, and on whether the brokers keep
    the group.
    """
    storage, dual_commit = given.value(OFFSETS_STORAGE), given.value(DUAL_COMMIT)
    if dual_commit and storage == "zookeeper":
        raise given.clash(
            DUAL_COMMIT,
            f"{given.shown(OFFSETS_STORAGE)}, so there is no second place",
            "Set 'offsets.storage' to kafka to have offsets in both",
        )
    if ASSIGN in given:
        given.refuse(
            [REBALANCE_CALLBACK],
            f"{given.shown(ASSIGN)}: assigned partitions never move",
            "Leave 'rebalance.callback' out",
        )
    strategy = given.value(STRATEGY)
    wait_ms, poll_ms = given.value(REBALANCE_WAIT), given.value(MAX_POLL_INTERVAL)
    if wait_ms is None:
        wait_ms = session_timeout_ms + _REBALANCE_WAIT_BEYOND_SESSION_MS
    if in_kafka and MAX_POLL_INTERVAL not in given:
        poll_ms = _MAX_POLL_INTERVAL_IN_KAFKA_MS
    return Group(
        id=given.value(GROUP_ID),
        member_id=given.value(MEMBER_ID),
        checkpoint_location=given.value(CHECKPOINT),
        strategy="range" if strategy == BALANCED else strategy,
        balanced=strategy == BALANCED,
        order=given.value(ORDER),
        offsets_storage=storage,
        dual_commit=storage == "kafka" if dual_commit is None else dual_commit,
        rebalance_wait_ms=wait_ms,
        max_poll_interval_ms=poll_ms,
        rebalance_callback=given.value(REBALANCE_CALLBACK),
    )


def seen_checkpoint(location: str) -> dict[str, str]:
    """Return the option that shows a source the query's checkpoint; none where it is unreadable.

    A query that is stopped by `pyspark_zkgroup.stop` commits its last batch without it.
    """
    return {CHECKPOINT.name: location} if _is_opened_by_python(location) else {}
