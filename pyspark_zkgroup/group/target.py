"""Who shall read what: the target every member computes from the same snapshot."""

from __future__ import annotations

from pyspark_zkgroup.group.assignors import assign
from pyspark_zkgroup.group.snapshot import Snapshot, expand
from pyspark_zkgroup.model import ThreadId, TopicPartition


def target(
    snapshot: Snapshot, strategy: str, order: str, exclude_internal: bool
) -> dict[TopicPartition, ThreadId]:
    """The thread of each partition that anybody in the group subscribes to."""
    threads = expand(snapshot, exclude_internal)
    partitions = {topic: snapshot.topics.get(topic, ()) for topic in threads}
    return assign(strategy, order, partitions, threads)
