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
from pyspark_zkgroup.model import TopicPartition


@dataclass(frozen=True, slots=True)
class LogOffsets:
    found: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, str]
    """Partitions for which nobody answered in time, with the reason: no such topic, no leader,
    leader not reached.
    """


def latest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The offset the next visible record will get. Partitions that did not answer in time are left
    out.
    """
    return dict(look_up(cluster, partitions, LATEST, timeout_s=timeout_s).found)


def earliest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The first offset still kept. Partitions that did not answer in time are left out."""
    return dict(look_up(cluster, partitions, EARLIEST, timeout_s=timeout_s).found)


def look_up(
    cluster: Cluster, partitions: Iterable[TopicPartition], at: int, *, timeout_s: float
) -> LogOffsets:
    """Asks until every partition has answered, or is said not to exist, or the time is over.

    ServerError when no broker at all can be reached. A partition that is not there, or whose leader
    is away while others answer, is a value: the caller goes on with the rest.
    """
    deadline = cluster.clock.monotonic() + timeout_s
    waits = delays(Random())
    found: dict[TopicPartition, int] = {}
    missing: dict[TopicPartition, str] = dict.fromkeys(partitions, "not asked yet")
    open_: set[TopicPartition] = set(missing)
    while open_:
        left = deadline - cluster.clock.monotonic()
        if left <= 0:
            break
        try:
            led = leaders.find(cluster, open_, timeout_s=left)
        except ServerError:
            if found:
                break
            raise
        for tp, leader in led.items():
            if isinstance(leader, NoLeader):
                missing[tp] = leader.reason
                if not leader.exists:
                    open_.discard(tp)
        _ask_leaders(cluster, led, at, deadline, found, missing)
        open_.difference_update(found)
        left = deadline - cluster.clock.monotonic()
        if open_ and left > 0:
            cluster.wait(min(next(waits), left))
    return LogOffsets(found, missing)


def _ask_leaders(
    cluster: Cluster,
    led: Mapping[TopicPartition, int | NoLeader],
    at: int,
    deadline: float,
    found: dict[TopicPartition, int],
    missing: dict[TopicPartition, str],
) -> None:
    by_leader: dict[int, list[TopicPartition]] = {}
    for tp, leader in led.items():
        if isinstance(leader, int):
            by_leader.setdefault(leader, []).append(tp)
    left = deadline - cluster.clock.monotonic()
    if not by_leader or left <= 0:
        return
    requests = {node: offsets_request(tps, at) for node, tps in by_leader.items()}
    for node, response in cluster.ask_each(requests, timeout_s=left).items():
        asked = by_leader[node]
        if isinstance(response, Lost):
            missing.update(dict.fromkeys(asked, f"its leader was not reached: {response.reason}"))
            leaders.forget(cluster, asked)
            continue
        answers = offsets_answer(response)
        for tp in asked:
            answer = answers.get(tp)
            if isinstance(answer, int):
                found[tp] = answer
                del missing[tp]
            else:
                missing[tp] = _reason(answer)
                leaders.forget(cluster, [tp])


def _reason(answer: BrokerError | None) -> str:
    return "its leader did not mention it" if answer is None else f"its leader answered {answer}"
