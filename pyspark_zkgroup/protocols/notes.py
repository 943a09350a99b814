"""The notes in a member's progress: what an operator should know in addition to the numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.listing import similar_names
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.plan import Plan


def missing_topics(
    subscription: Subscription,
    subscribed: Callable[[], Collection[object]],
    topics: Mapping[str, Collection[int]],
) -> list[str]:
    if subscription.is_wildcard:
        return [] if subscribed() else ["no topic matches the subscription yet"]
    missing = [topic for topic, _ in subscription.entries if not topics.get(topic)]
    return [f"topic {topic} does not exist yet{similar_names(topic, topics)}" for topic in missing]


def left_out(snapshot: Snapshot) -> list[str]:
    return [
        f"member {name} is excluded from the assignment: {reason}"
        for name, reason in snapshot.skipped.items()
    ]


def expected(
    consumer: str,
    plan: Plan | None,
    snapshot: Snapshot,
    target: Mapping[TopicPartition, ThreadId],
) -> str:
    """Return the sign, if any, that a registered member has just died: there are only two signs."""
    predecessor = plan.member if plan is not None else ""
    if predecessor != consumer and predecessor in snapshot.members:
        return f"the predecessor {predecessor} is still registered"
    if target and not any(t.consumer == consumer for t in target.values()):
        return "all partitions are assigned to other members, some of which may have stopped"
    return ""
