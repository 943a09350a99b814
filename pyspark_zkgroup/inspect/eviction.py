"""Taking a member out of its group by force: which of its nodes may be deleted, and when not.

A zkgroup member may be evicted while it lives. Its batch under way was planned under a fence; who
claims a partition moves that fence, so of the two only the claimer commits. The evicted member's
batch comes twice at most, as when its machine had died. The offset node is checked in each
transaction: without it we read an owner node, the member releases, another one claims it (an owner
node of the same version), and we delete the claim of the living.

A JVM consumer commits without a look at who owns, so nothing keeps it from committing what another
member has read too. It is refused: only the end of its process ends its session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.group.ops import Check, Delete, NodeVersion, Transaction
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """`session` is 0 for a node that outlives every session."""

    session: int
    node: NodeVersion


@dataclass(frozen=True, slots=True)
class Belongings:
    """All that one consumer has in ZooKeeper, read at one time. `jvm`: it is registered as one."""

    consumer: str
    registration_path: str
    registration: NodeSeen | None
    jvm: bool
    owners: Mapping[TopicPartition, NodeSeen]
    offsets: Mapping[TopicPartition, NodeVersion]

    @property
    def sessions(self) -> frozenset[int]:
        seen = [*self.owners.values(), *filter(None, (self.registration,))]
        return frozenset(one.session for one in seen if one.session)

    @property
    def is_nothing(self) -> bool:
        return self.registration is None and not self.owners


def why_not(it: Belongings) -> str:
    """Why nothing of this may be deleted; empty if it may."""
    living = it.registration is not None and it.registration.session != 0
    claims = [p for p, seen in sorted(it.owners.items()) if seen.session and _is_jvm(seen)]
    if not (it.jvm and living) and not claims:
        return ""
    sessions = ", ".join(f"{session:#x}" for session in sorted(it.sessions))
    return (
        f"{it.consumer} is a JVM consumer with a living session ({sessions}): it would continue "
        "to read and overwrite its successor's offsets"
    )


def has_moved(before: Belongings, now: Belongings) -> TopicPartition | None:
    """Return a partition that the member has committed or released in between, so it works."""
    for partition, seen in sorted(before.owners.items()):
        if now.owners.get(partition) != seen:
            return partition
        if now.offsets.get(partition) != before.offsets.get(partition):
            return partition
    return None


def deletions(it: Belongings, paths: GroupPaths) -> list[tuple[str, Transaction]]:
    """Return each transaction with the path that it deletes. The registration is first: then only
    members that can claim are expected to claim what becomes free.
    """
    found: list[tuple[str, Transaction]] = []
    if it.registration is not None:
        path = it.registration_path
        found.append((path, (Delete(path, it.registration.node.version),)))
    for partition, seen in sorted(it.owners.items()):
        path = paths.owner(partition)
        fence = it.offsets.get(partition)
        check = () if fence is None else (Check(paths.offset(partition), fence.version),)
        found.append((path, (*check, Delete(path, seen.node.version))))
    return found


def _is_jvm(owner: NodeSeen) -> bool:
    return owner.node.version == 0
