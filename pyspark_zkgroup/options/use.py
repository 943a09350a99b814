"""What an option means to a stream and to a batch read: some have a meaning in one of them alone.

At `load()` nobody can tell yet which of the two it will be. So what is wrong in both is found then,
and what is wrong in one when the stream is started or the batch is read.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import (
    batch_read_options,
    group_options,
    kafka_options,
    protocol_options,
)
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.starting import starting_option
from pyspark_zkgroup.ranges.positions import LATEST, Starting, StartingOffsets

Use = Literal["stream", "batch", "either"]

_NO_MEMBER: Final = (
    group_options.MEMBER_ID,
    group_options.CHECKPOINT,
    group_options.STRATEGY,
    group_options.ORDER,
    group_options.REBALANCE_WAIT,
    group_options.MAX_POLL_INTERVAL,
    group_options.SET_ACL,
    protocol_options.CANDIDATE,
    protocol_options.GROUP_SESSION_TIMEOUT,
    protocol_options.HEARTBEAT_INTERVAL,
    kafka_options.METADATA_REFRESH,
)
# As in Spark's Kafka source, so that the options of a stream serve a batch read of the same topics.
_IGNORED: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "endsByItself",
)


def check_use(given: Given, use: Use) -> None:
    if use == "stream":
        _refuse(
            given,
            batch_read_options.OPTIONS,
            "a stream has no end, and Spark pushes no filters into it",
            "Leave it out of readStream, or use spark.read. A query with "
            "trigger(availableNow=True) ends at today's end",
        )
    elif use == "batch":
        if given.value(protocol_options.PROTOCOL) == "light":
            raise OptionError(
                f"Option {given.shown(protocol_options.PROTOCOL)}, but a batch read asks no "
                "coordinator where the group stands",
                "Give 'zookeeper.connect' in place of the options of light members",
            )
        _refuse(
            given,
            _NO_MEMBER,
            "a batch read joins no group, commits nothing and looks at the topics once",
            "Leave it out of spark.read",
        )


def ignored(given: Given) -> tuple[str, ...]:
    """Options of a stream that a batch read warns of, each with its value."""
    lowered = {name.lower() for name in _IGNORED}
    return tuple(
        given.shown(option) for option in given.options() if option.name.lower() in lowered
    )


def batch_start(given: Given, start: Starting) -> Starting:
    """Where nothing is said a batch read starts at earliest; at latest it would read nothing."""
    if not isinstance(start, StartingOffsets):
        return start
    option = starting_option(given)
    if option not in given:
        return StartingOffsets("earliest")
    ends = start.default == "latest" or any(offset == LATEST for _, offset in start.partitions)
    if ends:
        raise OptionError(
            f"Option {given.shown(option)}, but a batch read that starts at latest reads nothing",
            "Give earliest, offsets, or a time",
        )
    return start


def _refuse(given: Given, options: tuple[Option[Any], ...], why: str, instead: str) -> None:
    for option in options:
        if option in given:
            raise OptionError(f"Option {given.shown(option)}, but {why}", instead)
