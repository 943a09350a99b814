"""One look at the group: members, topics, partitions, owners. Watches are armed before what they
watch is read.

A change that comes while we look is noticed: its event is on the queue when the look is over, and
the look is repeated. JVM members rebalance in bursts, so it gives up after a few tries; the events
stay and the next boundary looks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.errors import BadZnodeError, ServerError
from pyspark_zkgroup.group import patterns
from pyspark_zkgroup.group.brokers import parse_broker
from pyspark_zkgroup.group.ownership import OwnerRead
from pyspark_zkgroup.group.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    GroupPaths,
    broker_path,
    topic_path,
)
from pyspark_zkgroup.group.registration import Subscription
from pyspark_zkgroup.group.snapshot import Snapshot, read_snapshot, topics_of
from pyspark_zkgroup.group.topics import parse_topic
from pyspark_zkgroup.membership.port import Brokers
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.store import Store, partitions_below

_LOOKS_MAX = 5
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class GroupView:
    """`topics_from`: "zookeeper", "kafka", or "" while no broker is registered yet. `lives`: the
    transaction that made each topic, where ZooKeeper tells.
    """

    snapshot: Snapshot
    registrations: Mapping[str, int]
    topics_from: str
    notes: tuple[str, ...] = ()
    lives: Mapping[str, int] = field(default_factory=dict)


class GroupReader:
    def __init__(
        self,
        paths: GroupPaths,
        subscription: Subscription,
        exclude_internal: bool,
        brokers: Brokers,
        bootstrap_given: bool,
    ) -> None:
        self.paths = paths
        self.subscription = subscription
        self.hidden = patterns.INTERNAL_TOPICS if exclude_internal else frozenset()
        self.brokers = brokers
        self.bootstrap_given = bootstrap_given

    def look(self, store: Store, changed_meanwhile: Callable[[], bool]) -> GroupView:
        view = self._look_once(store)
        for _ in range(_LOOKS_MAX):
            if not changed_meanwhile():
                break
            view = self._look_once(store)
        return view

    def _look_once(self, store: Store) -> GroupView:
        (listed,) = store.children([self.paths.ids], watch=True)
        consumers = sorted(listed.names) if listed else []
        nodes = store.nodes([self.paths.id(c) for c in consumers])
        # One that is gone by now has left between the two reads, and its watch event is on the way.
        present = {c: n for c, n in zip(consumers, nodes, strict=True) if n is not None}
        ids = {c: n.data for c, n in present.items()}
        members = read_snapshot(self.paths.group, ids, {})
        subscriptions = [self.subscription, *(m.subscription for m in members.members.values())]
        topics_from, note = self.find_topics_source(store)
        lives: dict[str, int] = {}
        if topics_from == "zookeeper":
            topics, lives = self._topics_of_zookeeper(store, subscriptions)
        elif topics_from == "kafka":
            topics = dict(self.brokers.partitions())
        else:
            topics = {}
        return GroupView(
            snapshot=read_snapshot(self.paths.group, ids, topics),
            registrations={c: n.ephemeral_owner for c, n in present.items()},
            topics_from=topics_from,
            notes=(note,) if note else (),
            lives=lives,
        )

    def find_topics_source(self, store: Store) -> tuple[str, str]:
        """ZooKeeper where brokers register there; Kafka itself where they do not (KRaft)."""
        (ids,) = store.children([BROKER_IDS], watch=not self.bootstrap_given)
        if ids is not None and ids.names:
            if not self.bootstrap_given:
                self.brokers.found(self._addresses(store, sorted(ids.names)))
            return "zookeeper", ""
        if self.bootstrap_given:
            return "kafka", ""
        if ids is None:
            where = store.session.settings.connect
            raise ServerError(
                f"No Kafka broker has ever registered in ZooKeeper at {where}: "
                f"there is no {BROKER_IDS}, and kafka.bootstrap.servers is not set",
                "Set kafka.bootstrap.servers (KRaft brokers do not register), "
                "or give the brokers' chroot in zookeeper.connect",
            )
        return "", f"no broker is registered in {BROKER_IDS} yet"

    def _addresses(self, store: Store, names: list[str]) -> list[str]:
        paths = [broker_path(name) for name in names]
        found: list[str] = []
        for path, node in zip(paths, store.nodes(paths), strict=True):
            if node is None:
                continue
            try:
                address = parse_broker(path, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
                continue
            if address:
                found.append(address)
        if not found:
            raise ServerError(
                f"None of the {len(names)} brokers in {BROKER_IDS} has a plaintext listener",
                "Set kafka.bootstrap.servers",
            )
        return found

    def _topics_of_zookeeper(
        self, store: Store, subscriptions: Collection[Subscription]
    ) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
        every: Collection[str] = ()
        if any(s.is_wildcard for s in subscriptions):
            (listed,) = store.children([BROKER_TOPICS], watch=True)
            every = sorted(listed.names) if listed else ()
        wanted = sorted({t for s in subscriptions for t, _ in topics_of(s, every, self.hidden)})
        paths = [topic_path(topic) for topic in wanted]
        nodes = store.nodes(paths, watch=True)
        # A read arms no watch on a missing node; exists() does.
        store.stats([p for p, n in zip(paths, nodes, strict=True) if n is None], watch=True)
        topics: dict[str, tuple[int, ...]] = {}
        lives: dict[str, int] = {}
        for topic, path, node in zip(wanted, paths, nodes, strict=True):
            if node is None:
                continue
            try:
                topics[topic] = parse_topic(path, node.data)
                lives[topic] = node.node.czxid
            except BadZnodeError as error:
                _log.warning("%s", error)
        return topics, lives


def read_owned(store: Store, paths: GroupPaths, topics: Collection[str]) -> set[TopicPartition]:
    """All owner nodes of these topics, with a watch per topic: for one that appears or goes."""
    names = sorted(topics)
    listed = store.children([paths.owner_topic(t) for t in names], watch=True)
    missing = [t for t, c in zip(names, listed, strict=True) if c is None]
    store.stats([paths.owner_topic(t) for t in missing], watch=True)
    return partitions_below(names, listed)


def read_owners(
    store: Store, paths: GroupPaths, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OwnerRead]:
    names = sorted(partitions)
    nodes = store.nodes([paths.owner(p) for p in names])
    return {
        p: OwnerRead(n.data.decode("utf-8", "replace"), n.ephemeral_owner, n.node.version)
        for p, n in zip(names, nodes, strict=True)
        if n is not None
    }
