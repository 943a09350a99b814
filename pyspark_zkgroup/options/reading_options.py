"""Where reading starts."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import starting_values, values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.ranges.positions import StartingOffsets

SECTION: Final[Section] = "Where to read"

STARTING_OFFSETS = Option(
    "startingOffsets",
    SECTION,
    starting_values.STARTING_OFFSETS,
    StartingOffsets("latest"),
    "Where to start in a partition for which the group has no offset. JSON must then name every "
    "partition of its topic. Partitions and topics that appear after a query has begun "
    "start at earliest, whatever is set here. A batch read has no use for latest.",
    default_text="latest; in a batch read earliest",
)
STARTING_TIMESTAMP: Final[Option[int | None]] = Option(
    "startingTimestamp",
    SECTION,
    starting_values.TIMESTAMP,
    None,
    "Start at the first record of this time or later, where the group has no offset (and as "
    "startingOffsets otherwise). Goes before startingOffsetsByTimestamp, and both before "
    "startingOffsets. What it comes to is looked up once and written to the group.",
)
STARTING_BY_TIMESTAMP: Final = Option(
    "startingOffsetsByTimestamp",
    SECTION,
    starting_values.TIMESTAMPS,
    (),
    "The same with a time for each partition; every partition of the topics read is named.",
    default_text="none",
)
UNMATCHED = Option(
    "startingOffsetsByTimestampStrategy",
    SECTION,
    starting_values.UNMATCHED,
    "error",
    "What to do in a partition without a record of the starting time or later. error: the query "
    "fails and names the partition. latest: start at its log's end.",
)
FAIL_ON_DATA_LOSS = Option(
    "failOnDataLoss",
    SECTION,
    values.FLAG,
    True,
    "What happens when records are gone before they were read (retention has passed the group's "
    "offset, a topic was deleted or made anew). true: the query fails with an error that names "
    "partition, offsets and gap. false: it warns, counts the gap in its progress, and goes on from "
    "the log's start. A batch read likewise, as far as it warns.",
)

OPTIONS: Final = (
    STARTING_OFFSETS,
    STARTING_TIMESTAMP,
    STARTING_BY_TIMESTAMP,
    UNMATCHED,
    FAIL_ON_DATA_LOSS,
)
