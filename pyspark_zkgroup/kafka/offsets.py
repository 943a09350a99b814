"""Where the logs of many partitions begin and end: one request to each leader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, repeat

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.kafka import access, leaders
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.wire import (
    EARLIEST,
    LATEST,
    BrokerError,
    ToldOffset,
    epoch_ends_answer,
    epoch_ends_request,
    offsets_answer,
    offsets_request,
)
from pyspark_zkgroup.model import Isolation, LogEnd, Mark, TopicPartition
from pyspark_zkgroup.security.kafka_security import KafkaSecurity


@dataclass(frozen=True, slots=True)
class Missing:
    reason: str
    lasting: bool
    """Asking again will not help: no such partition, not allowed, not known to this broker."""
    impossible: bool = False
    """The broker cannot answer such a question: it, or the format of its records, is too old."""
    refusal: AccessError | None = None
    """Where the login or the permission is refused."""


@dataclass(frozen=True, slots=True)
class LogOffsets:
    found: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, Missing]
    """Partitions without an answer in time, with the reason: no such topic, no leader, leader not
    reached.
    """
    marks: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    """What was found, with the epoch and the topic of the answer."""

    def allowed(self) -> dict[TopicPartition, int]:
        """What was found; AccessError where anything of the rest is refused for good."""
        for without in self.missing.values():
            if without.refusal is not None:
                raise without.refusal
        return dict(self.found)


def latest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The offset the next visible record will get; under read_committed, the last stable one.
    Partitions that did not answer in time are left out.
    """
    return look_up(cluster, partitions, LATEST, timeout_s=timeout_s).allowed()


def log_ends(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, LogEnd]:
    """As `latest`, with the log that each is of."""
    answer = look_up(cluster, partitions, LATEST, timeout_s=timeout_s)
    return {p: answer.marks[p] for p in answer.allowed()}


def epoch_ends(
    cluster: Cluster, epochs: Mapping[TopicPartition, int], *, timeout_s: float
) -> dict[TopicPartition, int | None]:
    """Where the records of these epochs and all before end, in the logs as they are now. None where
    the leader cannot tell: it is older than 2.3, or knows nothing of such an epoch. One request to
    each leader; partitions without an answer are left out.
    """
    by_leader: dict[int, list[TopicPartition]] = {}
    leading: dict[TopicPartition, int] = {}
    deadline = cluster.clock.monotonic() + timeout_s
    for tp, leader in leaders.find(cluster, epochs, timeout_s=timeout_s).items():
        if not isinstance(leader, NoLeader):
            by_leader.setdefault(leader.node, []).append(tp)
            leading[tp] = leader.mark.epoch
    left = deadline - cluster.clock.monotonic()
    if not by_leader or left <= 0:
        return {}
    requests = {
        node: epoch_ends_request({tp: epochs[tp] for tp in tps}, leading)
        for node, tps in by_leader.items()
    }
    found: dict[TopicPartition, int | None] = {}
    for node, response in cluster.ask_each(requests, timeout_s=left).items():
        if isinstance(response, Lost):
            if response.unknown:
                found |= dict.fromkeys(by_leader[node])
            else:
                leaders.forget(cluster, by_leader[node])
            continue
        for tp, end in epoch_ends_answer(response).items():
            if isinstance(end, BrokerError):
                leaders.forget(cluster, [tp])
            else:
                found[tp] = end if end >= 0 else None
    return found


def ends(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """Where the logs end, transactions that are still open included, whatever the isolation."""
    found = look_up(cluster, partitions, LATEST, timeout_s=timeout_s, isolation="read_uncommitted")
    return found.allowed()


def earliest(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int]:
    """The first offset still kept. Partitions that did not answer in time are left out."""
    return look_up(cluster, partitions, EARLIEST, timeout_s=timeout_s).allowed()


def at_times(
    cluster: Cluster, times: Mapping[TopicPartition, int], *, timeout_s: float
) -> dict[TopicPartition, int | None]:
    """The first offset whose record has this time (in milliseconds) or a later one, None where
    there is none; under read_committed, before the first open transaction. Partitions that did not
    answer in time are left out; ServerError where brokers cannot find offsets by time.
    """
    answer = look_up(cluster, times, times, timeout_s=timeout_s)
    impossible = {p: without for p, without in answer.missing.items() if without.impossible}
    for partition, without in sorted(impossible.items())[:1]:
        raise ServerError.of(
            "no_timestamps", partition=partition, count=len(impossible) - 1, reason=without.reason
        )
    return {p: offset if offset >= 0 else None for p, offset in answer.allowed().items()}


def look_up(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    at: int | Mapping[TopicPartition, int],
    *,
    timeout_s: float,
    isolation: Isolation | None = None,
) -> LogOffsets:
    """Ask until every partition has an answer, or does not exist, or the time is over.

    ServerError when no broker at all can be reached. A partition that is not there, or whose leader
    is away while others answer, is a value: the caller continues with the rest.
    """
    deadline = cluster.clock.monotonic() + timeout_s
    isolation = isolation or cluster.settings.isolation
    wanted = at if isinstance(at, Mapping) else dict.fromkeys(partitions, at)
    waits = _waits(cluster)
    found: dict[TopicPartition, LogEnd] = {}
    missing = dict.fromkeys(wanted, Missing("not asked yet", lasting=False))
    while True:
        left = deadline - cluster.clock.monotonic()
        open_ = {tp: wanted[tp] for tp, without in missing.items() if not without.lasting}
        if not open_ or left <= 0:
            return _log_offsets(found, missing)
        try:
            answers = _ask_once(cluster, open_, isolation, deadline)
        except ServerError:
            if found:
                return _log_offsets(found, missing)
            raise
        for tp, answer in answers.items():
            if isinstance(answer, Missing):
                missing[tp] = answer
            else:
                found[tp] = answer
                del missing[tp]
        left = deadline - cluster.clock.monotonic()
        if left > 0 and any(not without.lasting for without in missing.values()):
            pause = next(waits, None)
            if pause is None:
                return _log_offsets(found, missing)
            cluster.wait(min(pause, left))


def _log_offsets(
    found: Mapping[TopicPartition, LogEnd], missing: Mapping[TopicPartition, Missing]
) -> LogOffsets:
    return LogOffsets({tp: end.offset for tp, end in found.items()}, missing, found)


def _waits(cluster: Cluster) -> Iterator[float]:
    client = cluster.settings.client
    if client.look_up_pause_ms is None:
        waits = cluster.pauses()
    else:
        waits = repeat(client.look_up_pause_ms / 1000)
    return waits if client.look_up_retries is None else islice(waits, client.look_up_retries)


def _ask_once(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    isolation: Isolation,
    deadline: float,
) -> dict[TopicPartition, LogEnd | Missing]:
    answers: dict[TopicPartition, LogEnd | Missing] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    marks: dict[TopicPartition, Mark] = {}
    left = deadline - cluster.clock.monotonic()
    for tp, leader in leaders.find(cluster, wanted, timeout_s=left).items():
        if isinstance(leader, NoLeader):
            lasting = not leader.exists or leader.refusal is not None
            answers[tp] = Missing(leader.reason, lasting, refusal=leader.refusal)
        else:
            by_leader.setdefault(leader.node, []).append(tp)
            marks[tp] = leader.mark
    left = deadline - cluster.clock.monotonic()
    if not by_leader or left <= 0:
        return answers
    epochs = {tp: mark.epoch for tp, mark in marks.items()}
    requests = {
        node: offsets_request({tp: wanted[tp] for tp in tps}, isolation, epochs)
        for node, tps in by_leader.items()
    }
    for node, response in cluster.ask_each(requests, timeout_s=left).items():
        asked = by_leader[node]
        if isinstance(response, Lost):
            reason = f"its leader gave no answer: {response.reason}"
            without = Missing(reason, not response.retryable, response.unknown, response.refusal)
            answers.update(dict.fromkeys(asked, without))
        else:
            given = offsets_answer(response)
            security = cluster.settings.security
            answers.update({tp: _judge(tp, given.get(tp), marks[tp], security) for tp in asked})
    leaders.forget(cluster, (tp for tp, answer in answers.items() if isinstance(answer, Missing)))
    return answers


def _judge(
    tp: TopicPartition,
    answer: ToldOffset | BrokerError | None,
    mark: Mark,
    security: KafkaSecurity,
) -> LogEnd | Missing:
    if answer is None:
        return Missing("its leader did not mention it", lasting=False)
    if isinstance(answer, BrokerError):
        reason = f"its leader answered {answer}"
        refused = answer.topic_refused
        refusal = access.topic_refused(security, tp.topic, "Describe") if refused else None
        return Missing(reason, not answer.retryable, answer.keeps_no_times, refusal)
    return LogEnd(answer.offset, Mark(answer.epoch, mark.topic_id), answer.may_lag)
