"""What holds for batch reads alone: where they end, and what of their filters is read."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import ending_values, starting_values, values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.ranges.endings import TO_LATEST

SECTION: Final[Section] = "Batch reads (spark.read)"

ENDING_OFFSETS = Option(
    "endingOffsets",
    SECTION,
    ending_values.ENDING_OFFSETS,
    TO_LATEST,
    "Where a batch read ends. JSON names every partition of the topics read. An end that its log "
    "does not reach is an error, or with failOnDataLoss=false a warning.",
    default_text="latest",
)
ENDING_TIMESTAMP: Final[Option[int | None]] = Option(
    "endingTimestamp",
    SECTION,
    starting_values.TIMESTAMP,
    None,
    "End before the first record of this time or later; in a partition without one, at its "
    "log's end. Goes before endingOffsetsByTimestamp, and both before endingOffsets.",
)
ENDING_BY_TIMESTAMP: Final = Option(
    "endingOffsetsByTimestamp",
    SECTION,
    starting_values.TIMESTAMPS,
    (),
    "The same with a time for each partition; every partition of the topics read is named.",
    default_text="none",
)
PUSH_FILTERS = Option(
    "pushFilters",
    SECTION,
    values.FLAG,
    False,
    "true: conditions on topic, partition, offset and timestamp decide what is read from the "
    "brokers. Spark 4.1 or later, and "
    "`spark.conf.set('spark.sql.python.filterPushdown.enabled', 'true')`: without that, Spark "
    "refuses every read with this option.",
)

OPTIONS: Final = (
    ENDING_OFFSETS,
    ENDING_TIMESTAMP,
    ENDING_BY_TIMESTAMP,
    PUSH_FILTERS,
)
