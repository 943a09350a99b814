"""What the brokers say of topics and partitions: one request, nothing remembered."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.wire import Metadata, metadata_answer, metadata_request


def read(cluster: Cluster, topics: Iterable[str] | None = None, *, timeout_s: float) -> Metadata:
    """Of the given topics, or of all. A topic that is not there is named in `missing`, never made
    and no error.
    """
    names = None if topics is None else tuple(topics)
    response = cluster.ask(lambda: metadata_request(names), timeout_s=timeout_s)
    answer = metadata_answer(response)
    if answer.brokers:
        cluster.learn(response)
    return answer


def topics(
    cluster: Cluster, names: Iterable[str] | None = None, *, timeout_s: float
) -> dict[str, tuple[int, ...]]:
    """Partitions per topic, ascending; a topic that is not there is left out."""
    found = read(cluster, names, timeout_s=timeout_s).topics
    return {name: topic.partitions for name, topic in sorted(found.items())}
