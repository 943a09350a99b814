"""The offsets of one group as the brokers keep them: read, written, and who else is in the group.

Asked of the group's coordinator. It moves and loads like a leader of partitions; that is waited for
within each call's time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import group_wire, metadata
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.error_codes import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import BrokerMember, CommitRefused, StoredOffset, TopicPartition

Answer = TypeVar("Answer")

# The broker appends one request's offsets as one batch, which must stay below message.max.bytes.
_OFFSETS_MAX = 1000
_LIVE = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS})


class GroupOffsets:
    def __init__(self, cluster: Cluster, group: str) -> None:
        self.cluster = cluster
        self.group = group
        self._coordinator: int | None = None

    def read(
        self, partitions: Collection[TopicPartition] | None, *, timeout_s: float
    ) -> dict[TopicPartition, StoredOffset]:
        """Of these, or of all. Partitions of which the group has none are left out; ServerError
        when one is not told.
        """
        if partitions is not None and not partitions:
            return {}
        answer = self._ask(
            lambda: group_wire.fetch_request(self.group, partitions), _judge_read, timeout_s
        )
        found: dict[TopicPartition, StoredOffset] = {}
        for tp, stored in answer.items():
            if isinstance(stored, BrokerError) and not stored.unknown_topic:
                raise self._refused(f"tell its offset of {tp}", str(stored))
            if isinstance(stored, StoredOffset):
                found[tp] = stored
        return found

    def commit(
        self, offsets: Mapping[TopicPartition, int], note: str, *, timeout_s: float
    ) -> dict[TopicPartition, CommitRefused]:
        """What was not taken, and why. ServerError when nothing is known to have been taken."""
        deadline = self.cluster.clock.monotonic() + timeout_s
        names = sorted(offsets)
        refused: dict[TopicPartition, CommitRefused] = {}
        for at in range(0, len(names), _OFFSETS_MAX):
            part = {tp: offsets[tp] for tp in names[at : at + _OFFSETS_MAX]}
            left_s = max(0.0, deadline - self.cluster.clock.monotonic())
            answer = self._ask(
                lambda part=part: group_wire.commit_request(self.group, part, note),  # type: ignore[misc]
                _judge_commit,
                left_s,
            )
            for tp in part:
                error = answer.get(tp, BrokerError(-1, "not mentioned", retryable=True))
                if error is not None:
                    refused[tp] = CommitRefused(str(error), group_is_live=error.code in _LIVE)
        return refused

    def live_members(self, *, timeout_s: float) -> tuple[BrokerMember, ...]:
        """Consumers in the group that the brokers coordinate; they refuse our commits."""
        described = self._ask(
            lambda: group_wire.describe_request(self.group), group_wire.describe_answer, timeout_s
        )
        if not described.is_of_new_kind:
            return described.members
        live = self._ask(group_wire.list_live_request, group_wire.list_live_answer, timeout_s)
        return (BrokerMember("consumers of the new protocol"),) if self.group in live else ()

    def live_namesakes(self, *, timeout_s: float) -> tuple[BrokerMember, ...]:
        """The same, for one who keeps nothing there: each broker is asked which groups it has. To
        look for a coordinator makes brokers create the topic of the offsets.
        """
        nodes = metadata.read(self.cluster, (), timeout_s=timeout_s).brokers
        requests = {node: group_wire.list_request() for node in nodes}
        answers = self.cluster.ask_each(requests, timeout_s=timeout_s)
        for node, response in answers.items():
            groups = None if isinstance(response, Lost) else group_wire.list_live_answer(response)
            if isinstance(groups, frozenset) and self.group in groups:
                self._coordinator = node
                return self.live_members(timeout_s=timeout_s)
        return ()

    def _ask(
        self,
        build: Callable[[], Any],
        judge: Callable[[Any], Answer | BrokerError],
        timeout_s: float,
    ) -> Answer:
        cluster = self.cluster
        deadline = cluster.clock.monotonic() + timeout_s
        waits = cluster.pauses()
        while True:
            left_s = max(0.0, deadline - cluster.clock.monotonic())
            node = self._find(left_s)
            if isinstance(node, int):
                left_s = max(0.0, deadline - cluster.clock.monotonic())
                response = cluster.ask_each({node: build()}, timeout_s=left_s)[node]
                if isinstance(response, Lost):
                    reason, lasting = response.reason, not response.retryable
                else:
                    answer = judge(response)
                    if not isinstance(answer, BrokerError):
                        return answer
                    reason, lasting = f"broker {node} answered {answer}", not answer.retryable
                self._coordinator = None
            else:
                reason, lasting = f"no coordinator: {node}", not node.retryable
            left_s = deadline - cluster.clock.monotonic()
            if lasting or left_s <= 0:
                raise self._refused("answer", reason)
            cluster.wait(min(next(waits), left_s))

    def _find(self, timeout_s: float) -> int | BrokerError:
        if self._coordinator is None:
            cluster = self.cluster
            deadline = cluster.clock.monotonic() + timeout_s
            response = cluster.ask(
                lambda: group_wire.coordinator_request(self.group),
                timeout_s=round(timeout_s, 2),
            )
            found = group_wire.coordinator_answer(response)
            if isinstance(found, BrokerError):
                return found
            if not cluster.knows(found):
                left_s = max(0.0, deadline - cluster.clock.monotonic())
                metadata.read(cluster, (), timeout_s=left_s)
            self._coordinator = found
        return self._coordinator

    def _refused(self, what: str, reason: str) -> ServerError:
        return ServerError.of("group_offsets", group=self.group, operation=what, reason=reason)


def _judge_read(
    response: Any,
) -> BrokerError | dict[TopicPartition, StoredOffset | BrokerError | None]:
    answer = group_wire.fetch_answer(response)
    return answer if isinstance(answer, BrokerError) else _whole(answer)


def _judge_commit(response: Any) -> BrokerError | dict[TopicPartition, BrokerError | None]:
    return _whole(group_wire.commit_answer(response))


def _whole(
    answers: dict[TopicPartition, Any],
) -> BrokerError | dict[TopicPartition, Any]:
    """A coordinator that has moved or is loading says so for each partition."""
    for answer in answers.values():
        if isinstance(answer, BrokerError) and answer.retryable and not answer.unknown_topic:
            return answer
    return answers
