"""Short names of members in tables: what ends the id of one member alone. Commands know them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark_zkgroup.inspect.rows import MemberRow

_WHOLE_MAX = 12
_LENGTH = 8


def short_names(members: Iterable[MemberRow]) -> dict[str, str]:
    """Members whose end another one has as well are left out."""
    ends = {member.consumer: _end(member.consumer) for member in members}
    number = Counter(ends.values())
    return {consumer: end for consumer, end in ends.items() if number[end] == 1}


def _end(consumer: str) -> str:
    end = consumer.rpartition("-")[2]
    return end if len(end) <= _WHOLE_MAX else end[-_LENGTH:]
