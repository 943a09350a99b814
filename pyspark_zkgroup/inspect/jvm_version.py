"""The rules of the JVM consumers, which changed from version to version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.assignors import STRATEGIES
from pyspark_zkgroup.jvm.patterns import CONSUMER_OFFSETS, TRANSACTION_STATE

NEWEST = "1.1.1"
_FORM = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?")


@dataclass(frozen=True, slots=True)
class JvmVersion:
    """A version of Kafka, 0.8.0 to 1.1.x. In 0.x the first three numbers name the release."""

    numbers: tuple[int, int, int, int]
    text: str

    @classmethod
    def parse(cls, text: str) -> JvmVersion:
        found = _FORM.fullmatch(text)
        if found is not None and (found.group(4) is None or found.group(1) == "0"):
            first, second, third, patch = (int(number or 0) for number in found.groups())
            if (0, 8) <= (first, second) <= (0, 11) or (first, second) in ((1, 0), (1, 1)):
                return cls((first, second, third, patch), text)
        raise AssignmentError.of("unknown_version", version=text, newest=NEWEST)

    def strategy(self, configured: str) -> str:
        """What partition.assignment.strategy leads to; AssignmentError where the JVM refuses it."""
        if self.numbers < (0, 8, 2):
            return "range"  # knows no other
        if configured in STRATEGIES:
            return configured
        if self.numbers < (0, 9):
            return "range"
        raise AssignmentError.of(
            "unknown_assignor", assignor=configured, known=", ".join(STRATEGIES)
        )

    @property
    def order(self) -> str:
        return "old" if self.numbers < (1,) else "new"

    @property
    def strict(self) -> bool:
        """Round-robin asks for equal topics and threads; each member lays out its own topics."""
        return self.numbers < (0, 10, 2)

    @property
    def refuses_empty(self) -> bool:
        """Whether round-robin fails when no member reads anything."""
        return self.numbers < (0, 9)

    @property
    def internal_topics(self) -> frozenset[str]:
        """What exclude.internal.topics hides from lists."""
        if self.numbers < (0, 8, 2):
            return frozenset()
        if self.numbers < (0, 11):
            return frozenset({CONSUMER_OFFSETS})
        return frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})

    @property
    def reads_with_jackson(self) -> bool:
        return self.numbers >= (1,)

    @property
    def mends_backslashes(self) -> bool:
        return self.numbers >= (1, 0, 1)

    def __str__(self) -> str:
        return self.text
