"""What the brokers say of topics and partitions: one request, nothing remembered."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.wire import Metadata, metadata_answer, metadata_request


def read(
    cluster: Cluster,
    topics: Iterable[str] | None = None,
    *,
    timeout_s: float,
    last: Collection[int] = (),
) -> Metadata:
    """Of the given topics, or of all. A topic that is not there is named in `missing`, never made
    and no error. The brokers in `last` are asked after all others.

    A broker that has just started knows neither brokers nor topics: that is not an answer.
    """
    names = None if topics is None else tuple(topics)
    response = cluster.ask(
        lambda: metadata_request(names),
        timeout_s=timeout_s,
        last=last,
        is_answer=lambda found: bool(found.brokers),
    )
    node, address = cluster.answered, cluster.answered_from
    cluster.learn(response)
    if not isinstance(node, int):
        # It was reached by an address that the user gave, which may be the one it advertises.
        named = [b.node_id for b in response.brokers if f"{b.host}:{b.port}" == address]
        node = named[0] if named else None
    return metadata_answer(response, node)


def topics(
    cluster: Cluster, names: Iterable[str] | None = None, *, timeout_s: float
) -> dict[str, tuple[int, ...]]:
    """Partitions per topic, ascending; a topic that is not there is left out."""
    found = read(cluster, names, timeout_s=timeout_s).topics
    return {name: topic.partitions for name, topic in sorted(found.items())}
