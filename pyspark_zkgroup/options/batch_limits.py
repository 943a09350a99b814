"""What was given of how much one batch takes, checked together."""

from __future__ import annotations

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import batch_options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.ranges.limits import BatchLimits
from pyspark_zkgroup.ranges.splitting import Splitting


def limits(given: Given) -> BatchLimits:
    most, least = given.value(batch_options.MAX_OFFSETS), given.value(batch_options.MIN_OFFSETS)
    if most is not None and least is not None and least > most:
        raise OptionError(
            f"Option {given.shown(batch_options.MIN_OFFSETS)}, but "
            f"{given.shown(batch_options.MAX_OFFSETS)}",
            "Make the first no greater than the second",
        )
    if batch_options.MAX_DELAY in given and least is None:
        raise OptionError(
            f"Option {given.shown(batch_options.MAX_DELAY)}, but 'minOffsetsPerTrigger' is not "
            "given",
            "Give it too, or leave 'maxTriggerDelay' out: without it no batch is held back",
        )
    return BatchLimits(
        bytes_max=given.value(batch_options.MAX_BYTES),
        offsets_min=least,
        delay_max_ms=given.value(batch_options.MAX_DELAY),
    )


def splitting(given: Given) -> Splitting:
    return Splitting(
        tasks_min=given.value(batch_options.MIN_PARTITIONS),
        rows_max=given.value(batch_options.MAX_RECORDS),
    )
