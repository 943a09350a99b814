"""Groups as they stand in ZooKeeper, read without joining them: for the command line."""

from __future__ import annotations

import queue
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter

from pyspark_zkgroup.connect_string import parse_connect_string
from pyspark_zkgroup.errors import BadZnodeError, OptionError
from pyspark_zkgroup.group.brokers import parse_broker
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    CONSUMERS,
    COORDINATED,
    COORDINATOR,
    GroupPaths,
    broker_path,
    coordinated_ids,
    topic_path,
)
from pyspark_zkgroup.group.report import GroupFacts, Seen
from pyspark_zkgroup.group.topics import parse_topic
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity
from pyspark_zkgroup.zk.session import Session, SessionSettings
from pyspark_zkgroup.zk.store import Node, Store, partitions_below

_SESSION_MS = 10_000
_CONNECT_MS = 5_000


@contextmanager
def opened(
    connect: str,
    auth: tuple[tuple[str, str], ...] = (),
    security: ZooKeeperSecurity = OPEN,
    *,
    set_acl: bool = False,
) -> Iterator[Store]:
    """A session of its own, that claims nothing."""
    try:
        where = parse_connect_string(connect)
    except ValueError as error:
        raise OptionError(
            f"The ZooKeeper address {connect!r} {error}",
            "Give host:port[,host:port...][/chroot], as in zookeeper.connect of the brokers",
        ) from error
    settings = SessionSettings(
        where.hosts, where.chroot, _SESSION_MS, _CONNECT_MS, auth, set_acl, security
    )
    session = Session(settings, queue.SimpleQueue())
    session.open()
    try:
        yield Store(session)
    finally:
        session.close()


def read_groups(store: Store) -> tuple[str, ...]:
    """The names of all groups that have ever had a member or an offset."""
    listed, coordinated = store.children([CONSUMERS, COORDINATED])
    names = set(_names(listed)) | set(_names(coordinated))
    return tuple(sorted(names - {node.rpartition("/")[2] for node in (COORDINATED, COORDINATOR)}))


def read_group(store: Store, group: str, topics: Mapping[str, tuple[int, ...]]) -> GroupFacts:
    """`topics` are the cluster's (`read_topics`), or none where they do not matter. Owner and
    offset of a partition are read in one request: together they were true at one time.
    """
    paths = GroupPaths(group)
    ids, coordinated, owned, kept = store.children(
        [paths.ids, coordinated_ids(group), paths.owners, paths.offsets]
    )
    consumers = [*_names(ids), *_names(coordinated)]
    registered = [f"{paths.ids}/{consumer}" for consumer in _names(ids)]
    registered += [f"{coordinated_ids(group)}/{consumer}" for consumer in _names(coordinated)]
    registrations = store.nodes(registered)
    below_owners = _below(store, [paths.owner_topic(t) for t in _names(owned)], _names(owned))
    below_offsets = _below(store, [paths.offset_topic(t) for t in _names(kept)], _names(kept))
    # By a key: two that are compared themselves take ten times as long, and there may be many.
    partitions = sorted(below_owners | below_offsets, key=attrgetter("topic", "partition"))
    both = store.nodes([path for p in partitions for path in (paths.owner(p), paths.offset(p))])
    owners = dict(zip(partitions, both[0::2], strict=True))
    offsets = dict(zip(partitions, both[1::2], strict=True))
    facts = GroupFacts(
        group=group,
        ids={c: _seen(n) for c, n in zip(consumers, registrations, strict=True) if n is not None},
        topics=topics,
        owners={p: _seen(n) for p, n in owners.items() if n is not None},
        offsets={p: n.data for p, n in offsets.items() if n is not None},
    )
    return _with_newcomers(store, paths, facts)


def _with_newcomers(store: Store, paths: GroupPaths, facts: GroupFacts) -> GroupFacts:
    """Settles who owns what without being registered, as far as we have read.

    A member that joined and claimed after the registrations were read owns, and seems to be nobody;
    so does one that left between two reads, since its nodes go all together. Whoever still owns
    after its registration was looked for once more, and not found, is truly not registered.
    """
    strays = {
        p: consumer_of(owner.data.decode("utf-8", "replace")) for p, owner in facts.owners.items()
    }
    strays = {p: consumer for p, consumer in strays.items() if consumer not in facts.ids}
    consumers = sorted({c for c in strays.values() if c and "/" not in c})
    if not strays:
        return facts
    partitions = list(strays)
    registrations = store.nodes([paths.id(c) for c in consumers])
    told = store.nodes([f"{coordinated_ids(facts.group)}/{c}" for c in consumers])
    registrations = [one or other for one, other in zip(registrations, told, strict=True)]
    again = store.nodes([paths.owner(p) for p in partitions])
    found = {c: _seen(n) for c, n in zip(consumers, registrations, strict=True) if n is not None}
    owners = {p: owner for p, owner in facts.owners.items() if p not in strays}
    owners.update((p, _seen(n)) for p, n in zip(partitions, again, strict=True) if n is not None)
    return replace(facts, ids={**facts.ids, **found}, owners=owners)


def read_topics(store: Store) -> dict[str, tuple[int, ...]]:
    """All topics of the brokers that register in this ZooKeeper."""
    (listed,) = store.children([BROKER_TOPICS])
    names = _names(listed)
    nodes = store.nodes([topic_path(topic) for topic in names])
    return {
        topic: parse_topic(topic_path(topic), node.data)
        for topic, node in zip(names, nodes, strict=True)
        if node is not None
    }


def read_brokers(store: Store, protocol: str = "PLAINTEXT") -> tuple[str, ...]:
    """host:port of the brokers registered there, of their listeners for `protocol`; without those
    that cannot be spoken to.
    """
    (listed,) = store.children([BROKER_IDS])
    paths = [broker_path(name) for name in _names(listed)]
    found = []
    for path, node in zip(paths, store.nodes(paths), strict=True):
        try:
            address = None if node is None else parse_broker(path, node.data, protocol)
        except BadZnodeError:
            continue
        if address:
            found.append(address)
    return tuple(found)


def _names(listed: object) -> list[str]:
    names: Collection[str] = getattr(listed, "names", ())
    return sorted(names)


def _below(store: Store, paths: Sequence[str], topics: Sequence[str]) -> set[TopicPartition]:
    return partitions_below(topics, store.children(paths))


def _seen(node: Node) -> Seen:
    return Seen(node.data, node.ephemeral_owner, node.made_ms)
