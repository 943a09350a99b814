"""The nodes of light members in ZooKeeper, which the coordinator makes and deletes for them.

They are persistent. Whose an owner node is shows by its text and its age: it was made after the
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

# A transaction of ZooKeeper has the size of a packet at most, 1 MiB.
_AT_ONCE = 2000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class LightNode:
    """A light member's registration: its node, and what it says of the session."""

    node: Node
    seat: LightSeat
    is_static: bool

    @property
    def life(self) -> int:
        return self.node.node.czxid


def light_of(path: str, node: Node | None) -> LightNode | None:
    """None where there is no node, or one of a member that has a session with ZooKeeper."""
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
    """Whose this owner node is, for comparison with a member's own session: the session of an
    ephemeral node, the life of a light member, or what nobody's session or life is.
    """
    if node.ephemeral_owner:
        return node.ephemeral_owner
    thread = thread_of(node.data.decode("utf-8", "replace"))
    life = lives.get(thread.consumer, 0) if thread is not None else 0
    return life if 0 < life < node.node.czxid else node.node.czxid


def light_owners(store: NodeStore, paths: CoordinatedPaths) -> dict[str, Node]:
    """All owner nodes of light members, by path."""
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
    """What a life leaves behind, how many owner nodes it was: in one transaction, as the end of a
    session is. Should we die in between, and the owner nodes be gone first, its member would be
    taken in again under that life, and count on owner nodes that others have by then; with the
    registration gone first, it would find its own name on nodes of somebody else.

    `until`: the next life under that name that is not over. It may have lost the name as well, to a
    third one, and may read on with what it holds for as long as its own time lasts.
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
        # Somebody from outside has changed one of them meanwhile.
    raise DisconnectedError(f"the nodes of {life.consumer} change faster than they are deleted")
