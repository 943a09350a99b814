"""Reading partitions of a group without being a member of it (the option `assign`): which
transactions keep two readers apart where nobody owns anything.

The offset node's fence does it alone. Taking a partition moves its fence; every commit and every
plan needs it unmoved. Each request also makes and deletes the owner node, which succeeds only where
no member of the group owns the partition; nobody ever sees that node.
"""

from __future__ import annotations

from pyspark_zkgroup.group.ops import Check, Create, Delete, Op, SetData, Transaction
from pyspark_zkgroup.group.ownership import Known, OffsetRead, version_of
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.plan import PlannedRange


def take(
    paths: GroupPaths, tp: TopicPartition, thread: ThreadId, offset: OffsetRead, start: int
) -> Transaction:
    write = SetData(paths.offset(tp), b"%d" % start, offset.node.version)
    return _while_unowned(paths, tp, thread, write)


def commit(paths: GroupPaths, tp: TopicPartition, thread: ThreadId, known: Known) -> Transaction:
    write = SetData(paths.offset(tp), b"%d" % known.done, known.fence.version)
    return _while_unowned(paths, tp, thread, write)


def prove(paths: GroupPaths, tp: TopicPartition, thread: ThreadId, known: Known) -> Transaction:
    return _while_unowned(paths, tp, thread, Check(paths.offset(tp), known.fence.version))


def replay(
    paths: GroupPaths, planned: PlannedRange, thread: ThreadId, offset: OffsetRead | None
) -> tuple[bool, Transaction]:
    """Whether the range is read again, once the transaction has proved it. As everywhere: by its
    fence alone, a replay only checks, and what is left out once is left out for ever.
    """
    node = paths.offset(planned.partition)
    if offset is None:
        return False, (Create(node, b"%d" % planned.range.start),)
    check = Check(node, offset.node.version)
    if offset.node != version_of(planned.fence):
        return False, (check,)
    return True, _while_unowned(paths, planned.partition, thread, check)


def _while_unowned(
    paths: GroupPaths, tp: TopicPartition, thread: ThreadId, operation: Op
) -> Transaction:
    node = paths.owner(tp)
    return (Create(node, str(thread).encode(), ephemeral=True), operation, Delete(node, 0))
