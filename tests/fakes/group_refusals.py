"""What a broker answers for other reasons than the state of the group: rights that were taken away,
partitions that its metadata does not show, and any code at all, before or after the effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_group import Reply
from tests.fakes.group_answers import WORDS, refused


@dataclass(frozen=True)
class Odd:
    """The code of one answer. `executed`: after the effect. `picks`: the partitions of a commit
    that are answered by it; the others are answered as ever.
    """

    word: str
    code: int
    executed: bool = False
    picks: Callable[[TopicPartition], bool] = lambda _partition: True


@dataclass
class Refusals:
    groups: set[int] = field(default_factory=set)
    """Clients that may not read the group."""
    topics: set[tuple[int, str]] = field(default_factory=set)
    """Clients, and topics that they may not read."""
    unknown: set[TopicPartition] = field(default_factory=set)
    odd: dict[int, Odd] = field(default_factory=dict)
    """By client: of its next request of that kind."""

    def take(self, client: int, word: str) -> Odd | None:
        odd = self.odd.get(client)
        if odd is None or odd.word != word:
            return None
        return self.odd.pop(client)

    def denied(self, client: int) -> set[str]:
        return {topic for one, topic in self.topics if one == client}

    def of_partition(self, client: int, partition: TopicPartition, *, is_there: bool) -> int:
        """Comes before all that the coordinator has to say of a commit."""
        if (client, partition.topic) in self.topics:
            return codes.TOPIC_AUTHORIZATION_FAILED
        if not is_there or partition in self.unknown:
            return codes.UNKNOWN_TOPIC_OR_PARTITION
        return codes.NONE


def answered_with(odd: Odd, request: Any, reply: Reply) -> Reply:
    """The effect is there, and the answer is another one."""
    kind = type(request).__name__

    def changed(_response: Any) -> None:
        reply(refused(kind, request, odd.code))

    return changed


def word_of(request: Any) -> str:
    return WORDS[type(request).__name__]
