"""Why a rebalance happened, as events of the group instead of the nodes that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark_zkgroup.group.paths import BROKER_IDS, BROKER_TOPICS, COORDINATED, GroupPaths
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.listing import first_few

_NAMED_MAX = 5


def events(
    causes: Iterable[str], paths: GroupPaths, own: str, before: Snapshot, after: Snapshot
) -> str:
    """Return the events that led from one snapshot to the other, and what else caused the look.

    A cause that is a path is a node whose watch fired. `own` is the id of the member that looks.
    """
    nodes = [cause for cause in causes if cause.startswith("/")]
    found = [cause for cause in causes if not cause.startswith("/")]
    if before.members:
        found += _changes(own, before, after)
    return ", ".join(found or dict.fromkeys(_event(node, paths) for node in nodes))


def _changes(own: str, before: Snapshot, after: Snapshot) -> Iterator[str]:
    joined = sorted(after.members.keys() - before.members.keys() - {own})
    left = sorted(before.members.keys() - after.members.keys())
    changed = sorted(
        member
        for member in before.members.keys() & after.members.keys()
        if before.members[member] != after.members[member]
    )
    for names, what in ((joined, "joined"), (left, "left"), (changed, "changed its registration")):
        if names:
            yield f"{first_few(names, _NAMED_MAX)} {what}"
    for topic in sorted(before.topics.keys() | after.topics.keys()):
        had, has = len(before.topics.get(topic, ())), len(after.topics.get(topic, ()))
        if had != has:
            yield f"{topic} has {has} partitions instead of {had}"


def _event(node: str, paths: GroupPaths) -> str:
    if node == paths.ids or node.startswith(f"{paths.ids}/"):
        return "a member joined, left or changed"
    if node.startswith(f"{paths.owners}/"):
        return f"an owner of {node.removeprefix(f'{paths.owners}/').partition('/')[0]} changed"
    if node.startswith(f"{COORDINATED}/"):
        return "the coordinator sent a command"
    if node.startswith(BROKER_TOPICS):
        return "a topic changed"
    if node.startswith(BROKER_IDS):
        return "a broker started or stopped"
    return f"{node} changed"
