"""What becomes of one range of an unfinished batch after a crash. Decided by its fence alone,
proved by a transaction.

A fence that has not moved: the range is read again, exactly. One that our own unanswered commit has
moved still stands. One that has moved else: another member took the partition, the range is left
out for ever, whoever owns it now and whatever the group's offset says. So the content of a batch
can only shrink from one replay to the next, and a sink that is idempotent by batch id stays right.
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
    """Read the range again once `request` is done; without a request the node is ours already."""

    held: Held
    request: Transaction = ()


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Never read the range once `request` is done; `reason` says who has it."""

    request: Transaction
    reason: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Our own predecessor's node: its session ends by itself."""

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
        # The group's nodes were lost. The range's start becomes the group's offset again, in a node
        # no plan knows.
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
    """Check only: the range is read and committed under the very fence its plan carries."""
    node, text = paths.owner(planned.partition), str(thread).encode()
    return (
        Create(node, text, ephemeral=True),
        SetData(node, text, 0),
        Check(paths.offset(planned.partition), offset.node.version),
    )
