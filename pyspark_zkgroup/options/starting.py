"""Whether the starting positions and the subscription speak of the same topics."""

from __future__ import annotations

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.group import patterns
from pyspark_zkgroup.options import reading_options
from pyspark_zkgroup.options.frozen import Options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.subscription import SOURCES


def check_starting_topics(found: Options, given: Given) -> None:
    subscription = found.subscription
    for topic in dict.fromkeys(
        partition.topic for partition, _ in found.starting_offsets.partitions
    ):
        if subscription.is_wildcard:
            matched = patterns.compile_expression(subscription.expression)(topic)
            read = matched == (subscription.pattern == "white_list")
        else:
            read = topic in dict(subscription.entries)
        if not read:
            source = next(source for source in SOURCES if source in given)
            raise OptionError(
                f"Option {given.shown(reading_options.STARTING_OFFSETS)}, which names {topic!r}, "
                f"but {given.shown(source)}",
                "Name only topics that are read",
            )
