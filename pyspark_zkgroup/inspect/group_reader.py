"""Groups as they stand in ZooKeeper, read without joining them: for the command line."""

from __future__ import annotations

import queue
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter

from pyspark_zkgroup.connect_string import parse_connect_string
from pyspark_zkgroup.errors import BadZnodeError, OptionError
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    CONSUMERS,
    COORDINATED,
    COORDINATOR,
    CoordinatedPaths,
    GroupPaths,
    broker_path,
    coordinated_ids,
    topic_path,
)
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, Written
from pyspark_zkgroup.jvm.brokers import parse_broker
from pyspark_zkgroup.jvm.topics import parse_topic
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity
from pyspark_zkgroup.zk.session import Session, SessionSettings
from pyspark_zkgroup.zk.store import Node, Store, partitions_below

_SESSION_MS = 10_000
_CONNECT_MS = 5_000
_LOOKS_MAX = 5


@contextmanager
def opened(
    connect: str,
    auth: tuple[tuple[str, str], ...] = (),
    security: ZooKeeperSecurity = OPEN,
    *,
    set_acl: bool = False,
) -> Iterator[Store]:
    """Open a session that claims nothing."""
    try:
        where = parse_connect_string(connect)
    except ValueError as error:
        raise OptionError.of("bad_zookeeper_address", address=connect, error=error) from error
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


@dataclass(frozen=True, slots=True)
class Traces:
    """What is there of a group, by the names of nodes alone."""

    has_members: bool
    is_there: bool


def read_traces(store: Store, group: str) -> Traces:
    paths = GroupPaths(group)
    nodes = [paths.ids, coordinated_ids(group), paths.owners, paths.offsets]
    ids, coordinated, *others = [bool(_names(listed)) for listed in store.children(nodes)]
    return Traces(ids or coordinated, ids or coordinated or any(others))


def read_group(store: Store, group: str, topics: Mapping[str, tuple[int, ...]]) -> GroupFacts:
    """`topics` are the cluster's (`read_topics`), or none where they do not matter.

    Looks again while members come and go, since rows of two moments contradict each other: an owner
    that registered after the registrations were read seems to be unregistered, and one that
    released between two reads seems to have committed what its successor did.
    """
    for _ in range(_LOOKS_MAX):
        facts, stirred = _look(store, group, topics)
        if not stirred:
            return facts
    return replace(_with_newcomers(store, GroupPaths(group), facts), stirred=True)


def _look(
    store: Store, group: str, topics: Mapping[str, tuple[int, ...]]
) -> tuple[GroupFacts, bool]:
    """And whether anything came or went meanwhile. If not, the registrations are those of the
    moment at which owners and offsets were read: had a session ended before, its registration would
    be missing behind.
    """
    paths = GroupPaths(group)
    registries = [paths.ids, coordinated_ids(group)]
    ids, coordinated, owned, kept = store.children([*registries, paths.owners, paths.offsets])
    told = _names(coordinated)
    consumers = [*_names(ids), *told]
    registered = [f"{paths.ids}/{consumer}" for consumer in _names(ids)]
    registered += [f"{coordinated_ids(group)}/{consumer}" for consumer in told]
    registrations = store.nodes(registered)
    coordinator, commands = _office(store, group, told)
    below_owners = _below(store, [paths.owner_topic(t) for t in _names(owned)], _names(owned))
    below_offsets = _below(store, [paths.offset_topic(t) for t in _names(kept)], _names(kept))
    # By a key: two that are compared themselves take ten times as long, and there may be many.
    partitions = sorted(below_owners | below_offsets, key=attrgetter("topic", "partition"))
    owner_nodes, offset_nodes, stirred = _owners_and_offsets(store, paths, partitions)
    owners = dict(zip(partitions, owner_nodes, strict=True))
    offsets = dict(zip(partitions, offset_nodes, strict=True))
    present = {c: _seen(n) for c, n in zip(consumers, registrations, strict=True) if n is not None}
    facts = GroupFacts(
        group=group,
        ids=present,
        topics=topics,
        owners={p: _seen(n) for p, n in owners.items() if n is not None},
        offsets={p: n.data for p, n in offsets.items() if n is not None},
        written={p: _written(n) for p, n in offsets.items() if n is not None},
        told=frozenset(told) & present.keys(),
        coordinator=coordinator,
        commands=commands,
    )
    return facts, stirred or store.children(registries) != [ids, coordinated]


def _owners_and_offsets(
    store: Store, paths: GroupPaths, partitions: Sequence[TopicPartition]
) -> tuple[list[Node | None], list[Node | None], bool]:
    """And whether owners came or went meanwhile. Many nodes are read in one request (500 partitions
    in each), few one after the other: of those an owner may release, and its successor commit,
    between two reads, so that owners are looked at once more.
    """
    owners = [paths.owner(p) for p in partitions]
    before = store.requests
    both = store.nodes([path for p in partitions for path in (paths.owner(p), paths.offset(p))])
    stirred = False
    if store.requests - before == len(both):
        again = store.nodes(owners)
        stirred = [n and n.node for n in again] != [n and n.node for n in both[0::2]]
    return both[0::2], both[1::2], stirred


def _office(
    store: Store, group: str, told: Sequence[str]
) -> tuple[Seen | None, dict[str, dict[str, bytes]]]:
    """Read the coordinator of these members, and the commands that they have not followed yet."""
    if not told:
        return None, {}
    paths = CoordinatedPaths(group)
    (coordinator,) = store.nodes([COORDINATOR])
    channels = store.children([paths.channel(consumer) for consumer in told])
    names = {c: _names(listed) for c, listed in zip(told, channels, strict=True)}
    commands = {c: [paths.command(c, name) for name in names[c]] for c in told}
    found = store.nodes([path for c in told for path in commands[c]])
    of = dict(zip([path for c in told for path in commands[c]], found, strict=True))
    return None if coordinator is None else _seen(coordinator), {
        consumer: {path: node.data for path in listed if (node := of[path]) is not None}
        for consumer, listed in commands.items()
    }


def _with_newcomers(store: Store, paths: GroupPaths, facts: GroupFacts) -> GroupFacts:
    """Settles who owns what without being registered, as far as we have read.

    A member that joined and claimed after the registrations were read owns, and seems to be
    unregistered; so does one that left between two reads, since its nodes go all together. A member
    that still owns after a second look for its registration is truly not registered.
    """
    absent: set[str] = set()
    for _ in range(_LOOKS_MAX):
        known = facts.ids.keys() | absent
        of = {p: consumer_of(o.data.decode("utf-8", "replace")) for p, o in facts.owners.items()}
        strays = [p for p, consumer in of.items() if consumer not in known]
        if not strays:
            break
        asked = sorted({of[p] for p in strays if of[p] and "/" not in of[p]})
        alone = store.nodes([paths.id(consumer) for consumer in asked])
        told = store.nodes([f"{coordinated_ids(facts.group)}/{consumer}" for consumer in asked])
        again = store.nodes([paths.owner(p) for p in strays])
        both = zip(asked, alone, told, strict=True)
        came = {c: _seen(node) for c, one, other in both if (node := one or other) is not None}
        owners = {p: owner for p, owner in facts.owners.items() if p not in strays}
        now = zip(strays, again, strict=True)
        owners.update((p, _seen(node)) for p, node in now if node is not None)
        where = zip(asked, told, strict=True)
        absent |= {of[p] for p in strays} - came.keys()
        facts = replace(
            facts,
            ids={**facts.ids, **came},
            owners=owners,
            told=facts.told | {consumer for consumer, node in where if node is not None},
        )
    return facts


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
    """Return host:port of the brokers registered there, of their listeners for `protocol`; without
    brokers that have no such listener.
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


def _written(node: Node) -> Written:
    return Written(node.made_ms, node.written_ms, node.node.czxid)


def _seen(node: Node) -> Seen:
    return Seen(node.data, node.ephemeral_owner, node.made_ms, node.node.czxid)
