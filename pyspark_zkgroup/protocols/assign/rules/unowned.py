"""Transactions of a query that reads partitions without being a member (the option `assign`).

There are no owners, so the fence of the offset node alone keeps two readers apart. Taking a
partition moves its fence; every commit and every plan needs the fence unmoved. Each transaction
also creates and deletes the owner node, which succeeds only if no member of the group owns the
partition. Other clients never see that node.
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
    """Return whether the range is read again, once the transaction has proved it.

    As in every protocol: the fence alone decides, a replay only checks, and a range that is left
    out once is left out permanently.
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
