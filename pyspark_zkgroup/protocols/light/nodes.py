"""The nodes of light members in ZooKeeper, which the coordinator creates and deletes for them.

They are persistent. The text and age of an owner node show its life: it was created after the
registration of its life, and before that of the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import Delete, Done, InDoubt, Transaction
from pyspark_zkgroup.group.ownership import thread_of
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import LightSeat, parse_registration
from pyspark_zkgroup.protocols.light.rules.sessions import Life
from pyspark_zkgroup.zk.port import DisconnectedError, Node, NodeStore, partitions_below

# A transaction of ZooKeeper is at most as large as a packet, 1 MiB.
_AT_ONCE = 2000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class LightNode:
    """A light member's registration: its node, and what it says about the session."""

    node: Node
    seat: LightSeat
    is_static: bool

    @property
    def life(self) -> int:
        return self.node.node.czxid


def light_of(path: str, node: Node | None) -> LightNode | None:
    """Return None if there is no node, or one of a member that has a session with ZooKeeper."""
    if node is None or node.ephemeral_owner:
        return None
    try:
        registration = parse_registration(path, node.data)
    except BadZnodeError:
        return None
    seat = registration.light
    return None if seat is None else LightNode(node, seat, registration.static_id)


def read_light(store: NodeStore, paths: CoordinatedPaths, consumer: str) -> LightNode | None:
    path = paths.id(consumer)
    (node,) = store.nodes([path])
    return light_of(path, node)


def owner_of(node: Node, lives: Mapping[str, int]) -> int:
    """Return the owner of this node, to compare with a member's own session.

    That is the session of an ephemeral node, the life of a light member, or a value that equals no
    session or life.
    """
    if node.ephemeral_owner:
        return node.ephemeral_owner
    thread = thread_of(node.data.decode("utf-8", "replace"))
    life = lives.get(thread.consumer, 0) if thread is not None else 0
    return life if 0 < life < node.node.czxid else node.node.czxid


def light_owners(store: NodeStore, paths: CoordinatedPaths) -> dict[str, Node]:
    """Return all owner nodes of light members, by path."""
    (listed,) = store.children([paths.owners])
    topics = sorted(listed.names) if listed else []
    below = store.children([paths.owner_topic(t) for t in topics])
    names = [paths.owner(p) for p in sorted(partitions_below(topics, below))]
    return {
        path: node
        for path, node in zip(names, store.nodes(names), strict=True)
        if node is not None and not node.ephemeral_owner and node.node.version
    }


def consumer_of_owner(node: Node) -> str:
    thread = thread_of(node.data.decode("utf-8", "replace"))
    return "" if thread is None else thread.consumer


def delete_life(store: NodeStore, life: Life, until: float = float("inf")) -> int:
    """Delete the nodes of a life in one transaction, like the end of a session; return how many of
    them were owner nodes.

    In two transactions the coordinator could die in between. If the owner nodes were gone first,
    the member would be accepted again under that life, and rely on owner nodes that other members
    have by then. If the registration were gone first, it would find its own name on nodes of
    another process.

    `until`: the next life under that name that is not over. It may have lost the name too, to a
    third one, and may continue to read what it holds until its own time is over.
    """
    paths = CoordinatedPaths(life.group)
    at = paths.id(life.consumer)
    for _ in range(_TRIES):
        (registered,) = store.nodes([at])
        newer = until
        if registered is not None and registered.node.czxid > life.number:
            newer = min(newer, registered.node.czxid)
        owned = {
            path: node
            for path, node in light_owners(store, paths).items()
            if consumer_of_owner(node) == life.consumer and life.number < node.node.czxid < newer
        }
        deletes = [Delete(path, node.node.version) for path, node in owned.items()]
        is_its = registered is not None and registered.node.czxid == life.number
        if registered is not None and is_its:
            first = (Delete(at, registered.node.version), *deletes[:_AT_ONCE])
            requests: list[Transaction] = [first, *((d,) for d in deletes[_AT_ONCE:])]
        else:
            requests = [(d,) for d in deletes]
        outcomes = store.commit(requests)
        if any(isinstance(outcome, InDoubt) for outcome in outcomes):
            raise DisconnectedError(f"the nodes of {life.consumer} may not have been deleted")
        if not is_its or isinstance(outcomes[0], Done):
            return len(owned)
        # Another client has changed one of them meanwhile.
    raise DisconnectedError(f"the nodes of {life.consumer} change faster than they are deleted")
