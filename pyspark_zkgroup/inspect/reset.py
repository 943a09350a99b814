"""Setting a group's offsets by hand: where each partition is to go, and how it is written.

An offset outside a partition's log is drawn to its nearer end, as Kafka's own tool does, and said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, SetData, Transaction
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition

# One transaction must stay below the server's packet limit of 1 MiB.
_OPS_MAX = 3000


@dataclass(frozen=True, slots=True)
class LogSpan:
    """What a partition's log holds: from `start` up to, not including, `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class KeptOffsets:
    """What a group has before it is changed. `topics` are the cluster's, `read` those that its
    members read or have read.
    """

    group: str
    members: tuple[str, ...]
    committed: Mapping[TopicPartition, int | None]
    topics: Mapping[str, tuple[int, ...]]
    read: frozenset[str]


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's offset, before and after; `note` says when it is not what was asked for."""

    partition: TopicPartition
    before: int | None
    after: int
    note: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after


def moves(
    asked: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, int | None],
    spans: Mapping[TopicPartition, LogSpan],
) -> tuple[Move, ...]:
    """In the order of partitions. Each partition asked for has a span."""
    return tuple(
        _move(partition, committed.get(partition), offset, spans[partition])
        for partition, offset in sorted(asked.items())
    )


def refuse_changed(wanted: Iterable[Move], committed: Mapping[TopicPartition, int | None]) -> None:
    """Raise where a group's offset is no longer the one that its move was decided from."""
    for move in wanted:
        now = committed.get(move.partition)
        if now != move.before:
            raise ServerError.of(
                "offset_changed_meanwhile", partition=move.partition, before=move.before, now=now
            )


def shifted(by: int, committed: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
    """Partitions without an offset have nothing to be shifted from and are left out."""
    return {p: at + by for p, at in committed.items() if at is not None and at >= 0}


def _move(partition: TopicPartition, before: int | None, asked: int, span: LogSpan) -> Move:
    after = min(max(asked, span.start), span.end)
    note = ""
    if asked < span.start:
        note = f"{asked} is below the log's start"
    elif asked > span.end:
        note = f"{asked} is beyond the log's end"
    return Move(partition, before, after, note)


def writes(
    group: str,
    wanted: Iterable[Move],
    present: Mapping[TopicPartition, OffsetRead],
) -> tuple[tuple[tuple[Move, ...], Transaction], ...]:
    """Transactions with what each of them writes: all or nothing, under the versions read.

    A partition that is already at its new offset is written as well: a reset says "from here", also
    to a member that has a batch in flight, which notices only a changed version.
    """
    paths = GroupPaths(group)
    every = list(wanted)
    return tuple(
        (tuple(part), tuple(_op(paths, move, present.get(move.partition)) for move in part))
        for part in _parts(every)
    )


def parents(group: str, wanted: Iterable[Move]) -> list[str]:
    """Nodes that must be there before the offsets can be written."""
    paths = GroupPaths(group)
    return sorted({paths.offset_topic(move.partition.topic) for move in wanted})


def _op(paths: GroupPaths, move: Move, present: OffsetRead | None) -> Create | SetData:
    path, data = paths.offset(move.partition), str(move.after).encode()
    if present is None:
        return Create(path, data)
    return SetData(path, data, present.node.version)


def _parts(every: Sequence[Move]) -> list[Sequence[Move]]:
    return [every[at : at + _OPS_MAX] for at in range(0, len(every), _OPS_MAX)]
