"""Decides whether one range of an unfinished batch is read again after a crash.

The fence alone decides, and a transaction proves it. If the fence has not moved, or only our own
unanswered commit has moved it, exactly this range is read again. If anything else has moved it,
another member took the partition: the range is left out permanently, regardless of the present
owner and of the group's offset. So the content of a batch can only shrink from one replay to the
next, and a sink that is idempotent by batch id stays correct.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.group.claim import take_over_request, taken_over_version
from pyspark_zkgroup.group.ops import Check, Create, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, OffsetRead, OwnerRead, stands
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.settle import owner_is
from pyspark_zkgroup.model import ThreadId
from pyspark_zkgroup.plan import PlannedRange


@dataclass(frozen=True, slots=True)
class Include:
    """Read the range again once `request` is done; without a request the node is already ours."""

    held: Held
    request: Transaction = ()


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Never read the range once `request` is done; `reason` names the owner."""

    request: Transaction
    reason: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wait for our own predecessor's node: its session ends without our doing."""

    owner: OwnerRead


def decide(
    paths: GroupPaths,
    planned: PlannedRange,
    *,
    session: int,
    thread: ThreadId,
    static: bool,
    owner: OwnerRead | None,
    offset: OffsetRead | None,
    waited_out: bool,
) -> Include | LeaveOut | WaitFor:
    tp = planned.partition
    node = paths.offset(tp)
    if offset is None:
        # The group's nodes were lost. Write the range's start as the group's offset again, into a
        # node that no plan knows.
        rebuilt = Create(node, b"%d" % planned.range.start)
        return LeaveOut((rebuilt,), "the offset node was lost and is rebuilt from the checkpoint")
    if not stands(planned.fence, offset):
        return LeaveOut((Check(node, offset.node.version),), "another member has taken it since")
    if owner is None:
        return Include(Held(thread.number, 1), _claim(paths, planned, thread, offset))
    if owner.session == session:
        return Include(Held(thread.number, owner.version))
    move_fence = SetData(node, offset.raw, offset.node.version)
    if owner.is_jvm:
        return LeaveOut((move_fence,), f"the JVM member {owner.text} owns it")
    if static and owner_is(owner, thread.consumer):
        held = Held(thread.number, taken_over_version(owner))
        return Include(held, take_over_request(paths, tp, thread, offset.node, owner))
    if not waited_out:
        return WaitFor(owner)
    return LeaveOut((move_fence,), f"{owner.text} still owns it")


def _claim(
    paths: GroupPaths, planned: PlannedRange, thread: ThreadId, offset: OffsetRead
) -> Transaction:
    """Check the fence only: the range is read and committed under the fence that its plan has."""
    node, text = paths.owner(planned.partition), str(thread).encode()
    return (
        Create(node, text, ephemeral=True),
        SetData(node, text, 0),
        Check(paths.offset(planned.partition), offset.node.version),
    )
