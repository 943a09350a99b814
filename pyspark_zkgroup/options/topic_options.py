"""Which topics are read, with how many threads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import values
from pyspark_zkgroup.options.option import Option, Section

SECTION: Final[Section] = "Topics"
NO_THREADS: Final[Mapping[str, int]] = MappingProxyType({})

SUBSCRIBE: Final[Option[tuple[str, ...] | None]] = Option(
    "subscribe",
    SECTION,
    values.TOPICS,
    None,
    "Topics to read. Exactly one of subscribe, subscribePattern, excludePattern and assign is "
    "given.",
)
ASSIGN: Final[Option[tuple[TopicPartition, ...] | None]] = Option(
    "assign",
    SECTION,
    values.PARTITIONS,
    None,
    "Read these partitions without joining the group: nothing is shared, nobody takes over, "
    "offsets are read and committed as the group's all the same. Refused while the group has "
    "members; of two queries that assign one partition the earlier one ends with an error.",
)
SUBSCRIBE_PATTERN: Final[Option[str | None]] = Option(
    "subscribePattern",
    SECTION,
    values.EXPRESSION,
    None,
    "Read the topics whose whole name matches (a white list), also those made later. A comma "
    "stands for |, and blanks are dropped, as in the JVM consumers. Supported: characters, ., "
    "[...], (...), |, *, +, ?, {n}, ^, $, \\d, \\w, \\s, and (?!...) at the beginning. An "
    "unsupported part is refused by name.",
)
EXCLUDE_PATTERN: Final[Option[str | None]] = Option(
    "excludePattern",
    SECTION,
    values.EXPRESSION,
    None,
    "Read all topics but those whose whole name matches (a black list).",
)
EXCLUDE_INTERNAL = Option(
    "exclude.internal.topics",
    SECTION,
    values.FLAG,
    True,
    "Leave `__consumer_offsets` and `__transaction_state` out of what a pattern means. Topics "
    "named by subscribe are never left out.",
)
THREADS = Option(
    "threads",
    SECTION,
    values.whole_number(1, values.THREADS_MAX),
    4,
    "Consumer threads for each topic: the most Spark tasks of this query that read at a time, "
    "unless minPartitions or maxRecordsPerPartition cut them. Also the query's weight in the "
    "group: partitions are shared out by threads.",
)
TOPIC_THREADS = Option(
    "topic.threads",
    SECTION,
    values.THREADS_BY_TOPIC,
    NO_THREADS,
    "Threads for single topics of subscribe, in place of threads. Not with a pattern.",
    default_text="none",
)

OPTIONS: Final = (
    SUBSCRIBE,
    ASSIGN,
    SUBSCRIBE_PATTERN,
    EXCLUDE_PATTERN,
    EXCLUDE_INTERNAL,
    THREADS,
    TOPIC_THREADS,
)
