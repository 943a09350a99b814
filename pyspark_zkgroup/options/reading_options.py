"""Where reading starts, and how much one batch takes."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.group.positions import StartingOffsets
from pyspark_zkgroup.options import starting_values, values
from pyspark_zkgroup.options.option import Option, Section

SECTION: Final[Section] = "Where and how much to read"

STARTING_OFFSETS = Option(
    "startingOffsets",
    SECTION,
    starting_values.STARTING_OFFSETS,
    StartingOffsets("latest"),
    "Where to start in a partition for which the group has no offset. JSON must then name every "
    "partition of its topic. Partitions and topics that appear after a query has begun "
    "start at earliest, whatever is set here.",
    default_text="latest",
)
FAIL_ON_DATA_LOSS = Option(
    "failOnDataLoss",
    SECTION,
    values.FLAG,
    True,
    "What happens when records are gone before they were read (retention has passed the group's "
    "offset, a topic was deleted or made anew). true: the query fails with an error that names "
    "partition, offsets and gap. false: it warns, counts the gap in its progress, and goes on from "
    "the log's start.",
)
MAX_OFFSETS: Final[Option[int | None]] = Option(
    "maxOffsetsPerTrigger",
    SECTION,
    values.whole_number(1, values.LONG_MAX),
    None,
    "The most offsets of one batch, shared over partitions by their backlog. Each partition "
    "with a backlog moves by one offset at least.",
)

OPTIONS: Final = (
    STARTING_OFFSETS,
    FAIL_ON_DATA_LOSS,
    MAX_OFFSETS,
)
