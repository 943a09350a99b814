"""Which partitions move at a boundary, and the transactions that move them.

Cooperative: what stays is never released. A partition that is ours but owned by another is waited
for, without a limit; its owner's slowness is never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition

# A restart within the session's timeout raises it by one: so many, and it begins again.
_VERSIONS_MAX = 8


@dataclass(frozen=True, slots=True)
class Moves:
    """All of them sorted. `vanished`: held, but the owner node is gone while our session lives."""

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
    """`target`: our partitions and their threads. `owned`: all owner nodes; `owners`: those read,
    of what is not held.
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
    """The owner node, rewritten once so that its version tells a zkgroup claim; and the fence
    moves.
    """
    node, text = paths.owner(tp), str(thread).encode()
    return (
        Create(node, text, ephemeral=True),
        SetData(node, text, 0),
        SetData(paths.offset(tp), b"%d" % start, offset.node.version),
    )


def claim_start(known: Known | None, offset: OffsetRead) -> int | None:
    """The group's offset, always; but where our own finished work could not be settled yet under an
    unmoved fence, that. None where the node holds no offset: the first position is to be looked up.
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
    """Under the fence as well. Every claim starts its owner node at version 1: an operator deletes
    ours, another member claims the partition, and by its version alone that node is ours. But that
    claim has moved the fence.
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
    """A static member's predecessor: its node for ours, under the very fence of the checkpoint,
    which stays.
    """
    node, text = paths.owner(tp), str(thread).encode()
    return (
        Delete(node, owner.version),
        Create(node, text, ephemeral=True),
        *(SetData(node, text, before) for before in range(taken_over_version(owner))),
        Check(paths.offset(tp), fence.version),
    )


def taken_over_version(owner: OwnerRead) -> int:
    """What the node has after that: not what the predecessor knows it by.

    It may live: it has looked at its registration and is held up; its node is taken over; it goes
    on, and releases what it holds, or moves it to another of its threads. By its version, which a
    new node would have had again, that was the node of its successor.
    """
    return owner.version + 1 if owner.version < _VERSIONS_MAX else 1
