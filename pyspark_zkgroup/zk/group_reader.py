"""A live group as it stands in ZooKeeper, read once and without joining: for the command line."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.connect_string import parse_connect_string
from pyspark_zkgroup.group.paths import BROKER_TOPICS, GroupPaths, topic_path
from pyspark_zkgroup.group.topics import parse_topic
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import Session, SessionSettings
from pyspark_zkgroup.zk.store import Store, partitions_below

_TIMEOUT_MS = 10_000


@dataclass(frozen=True, slots=True)
class GroupRead:
    """`ids`: the registrations as they lie there. `topics`: all of the cluster."""

    ids: Mapping[str, bytes]
    topics: Mapping[str, tuple[int, ...]]
    owners: Mapping[TopicPartition, str]


def read_group(connect: str, group: str) -> GroupRead:
    where = parse_connect_string(connect)
    settings = SessionSettings(where.hosts, where.chroot, _TIMEOUT_MS, _TIMEOUT_MS)
    session = Session(settings, queue.SimpleQueue())
    session.open()
    try:
        return _read(Store(session), GroupPaths(group))
    finally:
        session.close()


def _read(store: Store, paths: GroupPaths) -> GroupRead:
    ids, topics, owned = store.children([paths.ids, BROKER_TOPICS, paths.owners])
    consumers = sorted(ids.names) if ids else []
    registrations = store.nodes([paths.id(consumer) for consumer in consumers])
    names = sorted(topics.names) if topics else []
    nodes = store.nodes([topic_path(topic) for topic in names])
    return GroupRead(
        ids={c: n.data for c, n in zip(consumers, registrations, strict=True) if n is not None},
        topics={
            topic: parse_topic(topic_path(topic), node.data)
            for topic, node in zip(names, nodes, strict=True)
            if node is not None
        },
        owners=_owners(store, paths, sorted(owned.names) if owned else []),
    )


def _owners(store: Store, paths: GroupPaths, topics: list[str]) -> dict[TopicPartition, str]:
    listed = store.children([paths.owner_topic(topic) for topic in topics])
    partitions = sorted(partitions_below(topics, listed))
    nodes = store.nodes([paths.owner(p) for p in partitions])
    return {
        p: n.data.decode("utf-8", "replace")
        for p, n in zip(partitions, nodes, strict=True)
        if n is not None
    }
