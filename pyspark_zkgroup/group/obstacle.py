"""Why a partition that the target assigns to us cannot be claimed, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection

from pyspark_zkgroup.group.ownership import OwnerRead, consumer_of

_SHOWN_MAX = 120


def owned(path: str, owner: OwnerRead, registered: Collection[str]) -> str:
    """Describe the owner node. As a rule its member releases it at its next boundary or expires."""
    text = owner.text if len(owner.text) <= _SHOWN_MAX else owner.text[:_SHOWN_MAX] + "..."
    if not owner.session:
        return (
            f"owned by {text or 'an empty name'} in a node that outlives every session: no member "
            f"made it, delete {path}"
        )
    if consumer_of(owner.text) in registered:
        return f"owned by {text}"
    return (
        f"owned by {text}, which is not registered: it goes with session {owner.session:#x}, end "
        f"the process that has it"
    )


def bad_offset(path: str, raw: bytes) -> str:
    return f"{path} holds {raw[:40]!r}, expected a decimal offset: set or delete the node"


def lost_offset(path: str, left_s: float) -> str:
    return (
        f"{path} was lost, and this query does not know it: the member that read the partition "
        f"last may restore it within {left_s:.0f} s"
    )
