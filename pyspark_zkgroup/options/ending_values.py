"""How the text of an ending position becomes a value; see values.py."""

from __future__ import annotations

from pyspark_zkgroup.options.starting_values import numbers_by_partition
from pyspark_zkgroup.options.values import Rule
from pyspark_zkgroup.ranges.endings import TO_LATEST, EndingOffsets
from pyspark_zkgroup.ranges.positions import LATEST


def _ending_offsets(text: str) -> EndingOffsets:
    if text.lower() == "latest":
        return TO_LATEST
    if text.lower() == "earliest":
        raise ValueError("would leave nothing to read")
    if not text.startswith("{"):
        raise ValueError("is neither a word known here nor a JSON object")
    return EndingOffsets(numbers_by_partition(text, "offset", LATEST))


ENDING_OFFSETS: Rule[EndingOffsets] = Rule(
    'latest, or a JSON object such as {"orders": {"0": 50, "1": -1}} with the first offset that '
    "is not read, or -1 for latest",
    _ending_offsets,
)
