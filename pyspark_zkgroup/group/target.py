"""Which thread reads which partition: every member computes the same target from one snapshot."""

from __future__ import annotations

from pyspark_zkgroup.group.assignors import assign
from pyspark_zkgroup.group.balance import balanced
from pyspark_zkgroup.group.snapshot import Snapshot, expand
from pyspark_zkgroup.model import ThreadId, TopicPartition


def target(
    snapshot: Snapshot, strategy: str, order: str, exclude_internal: bool
) -> dict[TopicPartition, ThreadId]:
    """The thread of each partition that a member subscribes to."""
    threads = expand(snapshot, exclude_internal)
    partitions = {topic: snapshot.topics.get(topic, ()) for topic in threads}
    if snapshot.is_balanced:
        # Members read the present owners at different moments, so these must not decide.
        return balanced(partitions, threads, {})
    return assign(strategy, order, partitions, threads)
