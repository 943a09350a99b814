"""One look at the group: members, topics, partitions, owners.

Watches are armed before what they watch is read. So a change during the look is noticed: its event
is on the queue when the look is over, and the look is repeated. JVM members rebalance in bursts, so
it stops after a few tries; the events stay and the next boundary looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.group.ownership import OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.snapshot import Snapshot, read_snapshot
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.topics_view import TopicReader
from pyspark_zkgroup.zk.port import NodeStore, partitions_below

_LOOKS_MAX = 5


@dataclass(frozen=True, slots=True)
class GroupView:
    """`topics_from` and `lives` as in Topics."""

    snapshot: Snapshot
    registrations: Mapping[str, int]
    topics_from: str
    notes: tuple[str, ...] = ()
    lives: Mapping[str, int] = field(default_factory=dict)


class GroupReader:
    def __init__(self, paths: GroupPaths, subscription: Subscription, topics: TopicReader) -> None:
        self.paths = paths
        self.subscription = subscription
        self.topics = topics
        self.hidden = topics.hidden

    def look(self, store: NodeStore, changed_meanwhile: Callable[[], bool]) -> GroupView:
        view = self._look_once(store)
        for _ in range(_LOOKS_MAX):
            if not changed_meanwhile():
                break
            view = self._look_once(store)
        return view

    def _look_once(self, store: NodeStore) -> GroupView:
        (listed,) = store.children([self.paths.ids], watch=True)
        consumers = sorted(listed.names) if listed else []
        nodes = store.nodes([self.paths.id(c) for c in consumers])
        # One that is gone by now has left between the two reads; its watch event is on the way.
        present = {c: n for c, n in zip(consumers, nodes, strict=True) if n is not None}
        ids = {c: n.data for c, n in present.items()}
        members = read_snapshot(self.paths.group, ids, {})
        subscriptions = [self.subscription, *(m.subscription for m in members.members.values())]
        found = self.topics.read(store, subscriptions)
        return GroupView(
            snapshot=replace(members, topics=found.partitions),
            registrations={c: n.ephemeral_owner for c, n in present.items()},
            topics_from=found.source,
            notes=(found.note,) if found.note else (),
            lives=found.lives,
        )


def read_owned(store: NodeStore, paths: GroupPaths, topics: Collection[str]) -> set[TopicPartition]:
    """Return all owner nodes of these topics. A watch per topic reports new and deleted ones."""
    names = sorted(topics)
    listed = store.children([paths.owner_topic(t) for t in names], watch=True)
    missing = [t for t, c in zip(names, listed, strict=True) if c is None]
    store.stats([paths.owner_topic(t) for t in missing], watch=True)
    return partitions_below(names, listed)


def read_owners(
    store: NodeStore, paths: GroupPaths, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OwnerRead]:
    names = sorted(partitions)
    nodes = store.nodes([paths.owner(p) for p in names])
    return {
        p: OwnerRead(n.data.decode("utf-8", "replace"), n.ephemeral_owner, n.node.version)
        for p, n in zip(names, nodes, strict=True)
        if n is not None
    }
