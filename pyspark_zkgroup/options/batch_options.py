"""How much one batch takes, and into how many tasks it is cut."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import batch_values, values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.ranges.limits import DELAY_MAX_MS

SECTION: Final[Section] = "How much to read at a time"

MAX_OFFSETS: Final[Option[int | None]] = Option(
    "maxOffsetsPerTrigger",
    SECTION,
    values.whole_number(1, values.LONG_MAX),
    None,
    "The most offsets of one batch, shared over partitions by their backlog. Each partition "
    "with a backlog moves by one offset at least.",
)
MAX_BYTES: Final[Option[int | None]] = Option(
    "maxBytesPerTrigger",
    SECTION,
    batch_values.SIZE,
    None,
    "About the most bytes of one batch, counted as the brokers keep them, that is compressed. "
    "Reckoned from a sample of each partition where the batch begins, at a small fetch from each "
    "leader, so a batch is off by as much as records change in size behind that. Each partition "
    "with a backlog moves by one offset at least. Holds beside maxOffsetsPerTrigger.",
)
MIN_OFFSETS: Final[Option[int | None]] = Option(
    "minOffsetsPerTrigger",
    SECTION,
    values.whole_number(1, values.LONG_MAX),
    None,
    "A batch is held back until the partitions that this query holds have so many offsets "
    "to read, or maxTriggerDelay is over. Not the first one of a run, and not with "
    "trigger(availableNow=True) or trigger(once=True). Commits and the group's moves go on "
    "meanwhile.",
)
MAX_DELAY: Final[Option[int]] = Option(
    "maxTriggerDelay",
    SECTION,
    batch_values.DURATION_MS,
    DELAY_MAX_MS,
    "How long after the last batch minOffsetsPerTrigger holds one back at the most.",
    default_text="15m",
)
MIN_PARTITIONS: Final[Option[int | None]] = Option(
    "minPartitions",
    SECTION,
    values.whole_number(1, values.INT_MAX),
    None,
    "About how many tasks a batch has at the least. Without it there is one for each thread that "
    "has something to read; with it, large ones are cut into several, pro rata to their "
    "offsets.",
)
MAX_RECORDS: Final[Option[int | None]] = Option(
    "maxRecordsPerPartition",
    SECTION,
    values.whole_number(1, values.LONG_MAX),
    None,
    "The most offsets of one task (of Spark's partitions, not Kafka's): a larger one is cut into "
    "equal parts.",
)
ENDS_BY_ITSELF: Final[Option[bool | None]] = Option(
    "endsByItself",
    SECTION,
    values.FLAG,
    None,
    "Only for Spark 4.0 and 4.1, which tell a source nothing of its trigger and give a query with "
    "trigger(availableNow=True) or trigger(once=True) one batch. true: this is such a query, so "
    "its batch has all there is, and maxOffsetsPerTrigger and maxBytesPerTrigger are not held. "
    "false: it is not. One of them must be said there where one of these limits is given. Spark "
    "4.2 and later tell the source themselves, whatever is set here.",
)

OPTIONS: Final = (
    MAX_OFFSETS,
    MAX_BYTES,
    MIN_OFFSETS,
    MAX_DELAY,
    ENDS_BY_ITSELF,
    MIN_PARTITIONS,
    MAX_RECORDS,
)
