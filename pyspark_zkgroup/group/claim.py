"""Which partitions move at a boundary, and the transactions that move them.

Rebalancing is cooperative: a partition that stays is never released. A partition that is ours but
owned by another member is waited for, without a limit; a slow owner is never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition

# Each restart within the session's timeout raises the version by one; above this it starts again.
_VERSIONS_MAX = 8


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of one boundary, each sorted.

    `vanished` partitions are held, but their owner node is gone while our session lives.
    """

    vanished: tuple[TopicPartition, ...]
    release: tuple[TopicPartition, ...]
    rethread: tuple[TopicPartition, ...]
    adopt: tuple[TopicPartition, ...]
    claim: tuple[TopicPartition, ...]
    wait: tuple[TopicPartition, ...]
    remove: tuple[TopicPartition, ...]


def moves(
    *,
    target: Mapping[TopicPartition, int],
    held: Mapping[TopicPartition, Held],
    owned: Set[TopicPartition],
    owners: Mapping[TopicPartition, OwnerRead],
    session: int,
) -> Moves:
    """Compare the target with what is held and owned.

    `target` has our partitions and their threads. `owned` names all partitions with an owner node;
    `owners` has the owner nodes that were read, of partitions that are not held.
    """
    vanished = {p for p in held if p not in owned}
    kept = held.keys() - vanished
    missing = target.keys() - kept
    ours = {p for p, owner in owners.items() if owner.session == session and p not in kept}
    foreign = {p for p, owner in owners.items() if owner.session != session}
    return Moves(
        vanished=tuple(sorted(vanished)),
        release=tuple(sorted(kept - target.keys())),
        rethread=tuple(sorted(p for p in kept & target.keys() if held[p].thread != target[p])),
        adopt=tuple(sorted(ours & missing)),
        claim=tuple(sorted(missing - ours - foreign)),
        wait=tuple(sorted(missing & foreign)),
        remove=tuple(sorted(ours - target.keys())),
    )


def claim_request(
    paths: GroupPaths, tp: TopicPartition, thread: ThreadId, offset: OffsetRead, start: int
) -> Transaction:
    """Return the claim: create the owner node, rewrite it once, and move the fence.

    The rewritten node has version 1, which marks it as the claim of a zkgroup member.
    """
    node, text = paths.owner(tp), str(thread).encode()
    return (
        Create(node, text, ephemeral=True),
        SetData(node, text, 0),
        SetData(paths.offset(tp), b"%d" % start, offset.node.version),
    )


def claim_start(known: Known | None, offset: OffsetRead) -> int | None:
    """Return the offset that a claim starts from, or None if the first position must be looked up.

    It is the group's offset. The exception is finished work of ours that could not be settled yet
    under an unmoved fence: then it is the end of that work. None: the node holds no offset.
    """
    if known is not None and known.fence == offset.node:
        return known.done
    value = offset.value
    return value if value is not None and value >= 0 else None


def release_request(paths: GroupPaths, tp: TopicPartition, known: Known, held: Held) -> Transaction:
    return (
        Check(paths.offset(tp), known.fence.version),
        Delete(paths.owner(tp), held.owner_version),
    )


def rethread_request(
    paths: GroupPaths, tp: TopicPartition, thread: ThreadId, known: Known, held: Held
) -> Transaction:
    """Return the move of a partition between threads of one member, under the fence.

    The version of the owner node is not enough. Every claim starts its node at version 1: an
    operator deletes ours, another member claims the partition, and its node has the version of
    ours. But that claim has moved the fence.
    """
    return (
        Check(paths.offset(tp), known.fence.version),
        SetData(paths.owner(tp), str(thread).encode(), held.owner_version),
    )


def proof_request(paths: GroupPaths, tp: TopicPartition, known: Known, held: Held) -> Transaction:
    return (
        Check(paths.owner(tp), held.owner_version),
        Check(paths.offset(tp), known.fence.version),
    )


def take_over_request(
    paths: GroupPaths, tp: TopicPartition, thread: ThreadId, fence: NodeVersion, owner: OwnerRead
) -> Transaction:
    """Return the take-over of a static member's predecessor: replace its owner node by ours.

    The fence must be the one in the checkpoint, and it stays.
    """
    node, text = paths.owner(tp), str(thread).encode()
    return (
        Delete(node, owner.version),
        Create(node, text, ephemeral=True),
        *(SetData(node, text, before) for before in range(taken_over_version(owner))),
        Check(paths.offset(tp), fence.version),
    )


def taken_over_version(owner: OwnerRead) -> int:
    """Return the version of the node after a take-over: one that the predecessor does not know.

    The predecessor may be alive: it has looked at its registration and is held up; its node is
    taken over; it continues, and releases what it holds or moves it to another of its threads. A
    new node would again have the version that the predecessor remembers, so the predecessor would
    act on the node of its successor.
    """
    return owner.version + 1 if owner.version < _VERSIONS_MAX else 1
