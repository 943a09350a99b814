"""The groups that the brokers of a cluster coordinate, as any client may see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import group_wire, metadata
from pyspark_zkgroup.kafka.brokered_wire import (
    ListedGroup,
    describe_answer,
    describe_request,
    listed_answer,
)
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.error_codes import GROUP_ID_NOT_FOUND, SILENCE
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import BrokeredGroup, BrokeredKind


def look(
    cluster: Cluster, names: Collection[str] | None, *, timeout_s: float
) -> tuple[BrokeredGroup, ...]:
    """These groups as far as the brokers know them, or all.

    Each broker is asked for its groups: a search for the coordinator would make the brokers create
    the topic of the offsets. A group that moves to another broker meanwhile is looked for again.
    ServerError when a broker does not answer, as its groups are not known then.
    """
    deadline = cluster.clock.monotonic() + timeout_s
    waits = cluster.pauses()
    while True:
        left_s = max(0.1, deadline - cluster.clock.monotonic())
        brokers = metadata.read(cluster, (), timeout_s=left_s).brokers
        listed = [
            one for one in _listed(cluster, brokers, left_s) if names is None or one.group in names
        ]
        found = _described(cluster, listed, max(0.1, deadline - cluster.clock.monotonic()))
        left_s = deadline - cluster.clock.monotonic()
        if left_s <= 0 or not any(map(_may_pass, found.values())):
            where = {one.group: brokers[one.node] for one in listed}
            return tuple(_named(name, one, where[name]) for name, one in sorted(found.items()))
        cluster.wait(min(next(waits), left_s))


def _named(name: str, found: BrokeredGroup | BrokerError, address: str) -> BrokeredGroup:
    if isinstance(found, BrokerError):
        return BrokeredGroup(name, coordinator=address, trouble=str(found))
    return replace(found, coordinator=address)


def _may_pass(found: BrokeredGroup | BrokerError) -> bool:
    """A group that was deleted, or has changed its protocol, is listed as it is the next time."""
    return isinstance(found, BrokerError) and (found.retryable or found.code == GROUP_ID_NOT_FOUND)


def _listed(cluster: Cluster, brokers: Collection[int], timeout_s: float) -> Iterator[ListedGroup]:
    requests = {node: group_wire.list_request() for node in brokers}
    for node, response in cluster.ask_each(requests, timeout_s=timeout_s).items():
        answer = response if isinstance(response, Lost) else listed_answer(node, response)
        if isinstance(answer, Lost | BrokerError):
            reason = answer.reason if isinstance(answer, Lost) else str(answer)
            raise ServerError.of("groups_not_listed", node=node, reason=reason)
        yield from answer


def _described(
    cluster: Cluster, listed: Iterable[ListedGroup], timeout_s: float
) -> dict[str, BrokeredGroup | BrokerError]:
    kinds: dict[BrokeredKind, dict[int, list[str]]] = {"classic": {}, "consumer": {}}
    for one in listed:
        kinds[one.kind].setdefault(one.node, []).append(one.group)
    found: dict[str, BrokeredGroup | BrokerError] = {}
    for kind, by_node in kinds.items():
        requests = {node: describe_request(kind, names) for node, names in by_node.items()}
        for node, response in cluster.ask_each(requests, timeout_s=timeout_s).items():
            if isinstance(response, Lost):
                lost = BrokerError(SILENCE, response.reason, response.retryable)
                found |= dict.fromkeys(by_node[node], lost)
            else:
                found |= describe_answer(kind, response)
    return found
