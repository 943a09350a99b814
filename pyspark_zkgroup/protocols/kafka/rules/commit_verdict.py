"""What the answer to one commit request means: for each partition, and for the member.

All partitions count. A partition that was refused for itself says nothing of the others: a topic
that is gone, or that this user may not read, comes before the coordinator is even asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.model import TopicPartition

# What the member acts on comes first; below GONE nothing concerns the member.
_BY_WEIGHT = (
    Meaning.FENCED,
    Meaning.UNKNOWN_MEMBER,
    Meaning.OLD_GENERATION,
    Meaning.REFUSED,
    Meaning.IN_DOUBT,
    Meaning.AGAIN,
    Meaning.REBALANCE,
    Meaning.GONE,
    Meaning.DONE,
)
_RENEWING = frozenset({Meaning.DONE, Meaning.REBALANCE})
_GOES_ON = frozenset({Meaning.DONE, Meaning.GONE})


@dataclass(frozen=True, slots=True)
class CommitVerdict:
    """`code` is the weightiest of all partitions, and `of` those that were answered by it.
    `renews`: the coordinator has taken the whole request as one of a member. `goes_on`: another
    request of the same kind may follow.
    """

    outcomes: Mapping[TopicPartition, Meaning]
    code: int
    of: tuple[TopicPartition, ...]
    renews: bool
    goes_on: bool


def judge_commit(
    sent: Collection[TopicPartition],
    answer: Mapping[TopicPartition, int] | None,
    unanswered: int = codes.SILENCE,
) -> CommitVerdict:
    """A partition that the answer does not mention is in doubt."""
    told = dict.fromkeys(sent, unanswered)
    if answer is not None:
        told = {partition: answer.get(partition, codes.SILENCE) for partition in sent}
    outcomes = {p: codes.meaning_of("commit", code) for p, code in told.items()}
    heaviest = min(told.values(), key=_weight, default=codes.NONE)
    return CommitVerdict(
        outcomes,
        heaviest,
        tuple(sorted(p for p, code in told.items() if code == heaviest)),
        renews=_RENEWING.issuperset(outcomes.values()),
        goes_on=_GOES_ON.issuperset(outcomes.values()),
    )


def _weight(code: int) -> int:
    return _BY_WEIGHT.index(codes.meaning_of("commit", code))
