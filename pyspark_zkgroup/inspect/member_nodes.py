"""What one member has in ZooKeeper, and what is asked of it: for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import Create, Delete, Done, Op, Outcome, SetData
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.paths import GroupPaths, coordinated_ids
from pyspark_zkgroup.group.requests import Request, decode_request, encode_request
from pyspark_zkgroup.inspect.eviction import Belongings, NodeSeen
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.jvm.registration import parse_registration
from pyspark_zkgroup.zk.store import Node, Store


@dataclass(frozen=True, slots=True)
class MemberState:
    """How it is about one member and what was asked of it. `rests`: the session by which its
    process lives outside of the group; `version` of the request node, -1 where there is none.
    `is_light`: registered, but without a session with ZooKeeper.
    """

    session: int = 0
    rests: int = 0
    request: Request | None = None
    version: int = -1
    is_light: bool = False

    @property
    def is_registered(self) -> bool:
        return self.session != 0


def read_standings(store: Store, group: str, consumers: Sequence[str]) -> dict[str, MemberState]:
    paths = GroupPaths(group)
    found = {}
    for consumer in consumers:
        asked, resting, alone, coordinated = store.nodes(
            [
                paths.request(consumer),
                paths.rests(consumer),
                paths.id(consumer),
                f"{coordinated_ids(group)}/{consumer}",
            ]
        )
        registered = alone or coordinated
        found[consumer] = MemberState(
            0 if registered is None else registered.ephemeral_owner,
            0 if resting is None else resting.ephemeral_owner,
            None if asked is None else decode_request(asked.data),
            -1 if asked is None else asked.node.version,
            coordinated is not None and coordinated.ephemeral_owner == 0,
        )
    return found


def read_asked(store: Store, group: str) -> tuple[str, ...]:
    """All of whom something was asked, and all that live outside of the group."""
    paths = GroupPaths(group)
    listed = store.children([paths.requests, paths.resting])
    return tuple(sorted({name for one in listed if one is not None for name in one.names}))


def ask(store: Store, group: str, wanted: Mapping[str, tuple[Request, int]]) -> list[Outcome]:
    """Writes requests; each with the version of the node that it replaces, -1 for none."""
    paths = GroupPaths(group)
    store.ensure([paths.requests, paths.resting])
    parts: list[tuple[Op, ...]] = []
    for consumer, (request, version) in wanted.items():
        path, data = paths.request(consumer), encode_request(request)
        parts.append((Create(path, data) if version < 0 else SetData(path, data, version),))
    return store.commit(parts)


def withdraw(store: Store, group: str, consumer: str, version: int) -> bool:
    """False where the request is another by now, or gone."""
    (outcome,) = store.commit([(Delete(GroupPaths(group).request(consumer), version),)])
    return isinstance(outcome, Done)


def read_belongings(store: Store, facts: GroupFacts, consumer: str) -> Belongings:
    """Of the partitions that `facts` has as this consumer's."""
    paths = GroupPaths(facts.group)
    owned = sorted(
        p
        for p, seen in facts.owners.items()
        if consumer_of(seen.data.decode("utf-8", "replace")) == consumer
    )
    alone, coordinated = paths.id(consumer), f"{coordinated_ids(facts.group)}/{consumer}"
    nodes = store.nodes(
        [alone, coordinated] + [path for p in owned for path in (paths.owner(p), paths.offset(p))]
    )
    path, registered = (alone, nodes[0]) if nodes[1] is None else (coordinated, nodes[1])
    of = dict(zip(owned, zip(nodes[2::2], nodes[3::2], strict=True), strict=True))
    return Belongings(
        consumer,
        path,
        None if registered is None else _seen(registered),
        registered is not None and _is_jvm(path, registered),
        {
            p: _seen(owner)
            for p, (owner, _) in of.items()
            if owner is not None and consumer_of(owner.data.decode("utf-8", "replace")) == consumer
        },
        {p: offset.node for p, (_, offset) in of.items() if offset is not None},
    )


def _seen(node: Node) -> NodeSeen:
    return NodeSeen(node.ephemeral_owner, node.node)


def _is_jvm(path: str, node: Node) -> bool:
    """One that cannot be read may belong to any client: it owns nothing by our rules, and is no
    working JVM consumer.
    """
    try:
        return not parse_registration(path, node.data).is_zkgroup
    except BadZnodeError:
        return False
