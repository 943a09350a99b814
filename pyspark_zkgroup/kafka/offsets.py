"""Where the logs of many partitions begin and end: one request to each leader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import leaders
from pyspark_zkgroup.kafka.connection import Cluster, Lost
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.kafka.wire import (
    EARLIEST,
    LATEST,
    BrokerError,
    offsets_answer,
    offsets_request,
)
from pyspark_zkgroup.model import Isolation, TopicPartition


@dataclass(frozen=True, slots=True)
class Missing:
    reason: str
    lasting: bool
    """Asking again will not help: no such partition, not allowed, not known to this broker."""


@dataclass(frozen=True, slots=True)
class LogOffsets:
    found: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, Missing]
    """Partitions for which nobody answered in time, with the reason: no such topic, no leader,
    leader not reached.
    """


def latest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The offset the next visible record will get; under read_committed, the last stable one.
    Partitions that did not answer in time are left out.
    """
    return dict(look_up(cluster, partitions, LATEST, timeout_s=timeout_s).found)


def ends(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """Where the logs end, transactions that are still open included, whatever the isolation."""
    found = look_up(cluster, partitions, LATEST, timeout_s=timeout_s, isolation="read_uncommitted")
    return dict(found.found)


def earliest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The first offset still kept. Partitions that did not answer in time are left out."""
    return dict(look_up(cluster, partitions, EARLIEST, timeout_s=timeout_s).found)


def look_up(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    at: int,
    *,
    timeout_s: float,
    isolation: Isolation | None = None,
) -> LogOffsets:
    """Asks until every partition has answered, or is said not to exist, or the time is over.

    ServerError when no broker at all can be reached. A partition that is not there, or whose leader
    is away while others answer, is a value: the caller goes on with the rest.
    """
    deadline = cluster.clock.monotonic() + timeout_s
    isolation = isolation or cluster.settings.isolation
    waits = delays(Random())
    found: dict[TopicPartition, int] = {}
    missing = dict.fromkeys(partitions, Missing("not asked yet", lasting=False))
    while True:
        left = deadline - cluster.clock.monotonic()
        open_ = [tp for tp, without in missing.items() if not without.lasting]
        if not open_ or left <= 0:
            return LogOffsets(found, missing)
        try:
            answers = _ask_once(cluster, open_, at, isolation, deadline)
        except ServerError:
            if found:
                return LogOffsets(found, missing)
            raise
        for tp, answer in answers.items():
            if isinstance(answer, Missing):
                missing[tp] = answer
            else:
                found[tp] = answer
                del missing[tp]
        left = deadline - cluster.clock.monotonic()
        if left > 0 and any(not without.lasting for without in missing.values()):
            cluster.wait(min(next(waits), left))


def _ask_once(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    at: int,
    isolation: Isolation,
    deadline: float,
) -> dict[TopicPartition, int | Missing]:
    answers: dict[TopicPartition, int | Missing] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    left = deadline - cluster.clock.monotonic()
    for tp, leader in leaders.find(cluster, partitions, timeout_s=left).items():
        if isinstance(leader, NoLeader):
            answers[tp] = Missing(leader.reason, lasting=not leader.exists)
        else:
            by_leader.setdefault(leader, []).append(tp)
    left = deadline - cluster.clock.monotonic()
    if not by_leader or left <= 0:
        return answers
    requests = {node: offsets_request(tps, at, isolation) for node, tps in by_leader.items()}
    for node, response in cluster.ask_each(requests, timeout_s=left).items():
        asked = by_leader[node]
        if isinstance(response, Lost):
            reason = f"its leader gave no answer: {response.reason}"
            answers.update(dict.fromkeys(asked, Missing(reason, lasting=not response.retryable)))
        else:
            given = offsets_answer(response)
            answers.update({tp: _judge(given.get(tp)) for tp in asked})
    leaders.forget(cluster, (tp for tp, answer in answers.items() if isinstance(answer, Missing)))
    return answers


def _judge(answer: int | BrokerError | None) -> int | Missing:
    if answer is None:
        return Missing("its leader did not mention it", lasting=False)
    if isinstance(answer, BrokerError):
        return Missing(f"its leader answered {answer}", lasting=not answer.retryable)
    return answer
