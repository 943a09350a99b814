"""Lists the topics with their partitions, from ZooKeeper or from the brokers themselves.

Watches are armed before what they watch is read.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.errors import BadZnodeError, ServerError
from pyspark_zkgroup.group.paths import BROKER_IDS, BROKER_TOPICS, topic_path
from pyspark_zkgroup.group.snapshot import topics_of
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.jvm.topics import parse_topic
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.owned.registered_brokers import registered_brokers
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.zk.port import NodeStore

_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics with their partitions. `source` is "zookeeper", "kafka", or "" while no broker is
    registered yet, as `note` says. `lives` has the transaction that created each topic, if
    ZooKeeper has it.
    """

    partitions: Mapping[str, tuple[int, ...]]
    source: str
    note: str = ""
    lives: Mapping[str, int] = field(default_factory=dict)


class TopicReader:
    """Patterns never match `hidden` topics. `protocol` is for connecting to brokers."""

    def __init__(self, options: Options, brokers: Brokers) -> None:
        self.hidden = options.topics.hidden
        self.brokers = brokers
        self.bootstrap_given = bool(options.fetch.bootstrap)
        self.protocol = options.fetch.security.protocol

    def read(self, store: NodeStore, subscriptions: Collection[Subscription]) -> Topics:
        source, note = self._find_source(store)
        if source == "zookeeper":
            topics, lives = self._of_zookeeper(store, subscriptions)
            return Topics(topics, source, lives=lives)
        return Topics(dict(self.brokers.partitions()) if source == "kafka" else {}, source, note)

    def _find_source(self, store: NodeStore) -> tuple[str, str]:
        """Choose ZooKeeper if brokers register there, or Kafka itself if they do not (KRaft)."""
        (ids,) = store.children([BROKER_IDS], watch=not self.bootstrap_given)
        if ids is not None and ids.names:
            if not self.bootstrap_given:
                self.brokers.found(self._addresses(store, sorted(ids.names)))
            return "zookeeper", ""
        if self.bootstrap_given:
            return "kafka", ""
        if ids is None:
            where = store.session.settings.connect
            raise ServerError.of("no_brokers_registered", server=where, path=BROKER_IDS)
        return "", f"no broker is registered in {BROKER_IDS} yet"

    def _addresses(self, store: NodeStore, names: list[str]) -> tuple[str, ...]:
        found = registered_brokers(store, self.protocol, names)
        if not found:
            raise ServerError.of(
                "no_listener", count=len(names), path=BROKER_IDS, protocol=self.protocol
            )
        return found

    def _of_zookeeper(
        self, store: NodeStore, subscriptions: Collection[Subscription]
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
