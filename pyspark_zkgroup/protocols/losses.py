"""Handles records that are gone: an error that ends the query, or a warning and a count."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeVar

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import DataLossError, OffsetBeyondEndError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.ranges import gaps
from pyspark_zkgroup.ranges.gaps import Gap

OldEnds = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int | None]]
_log = logging.getLogger("pyspark_zkgroup.group")


class _Progress(Protocol):
    """The part of each protocol's frozen dataclass about a partition: finished up to `done`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def done(self) -> int: ...


K = TypeVar("K", bound=_Progress)


class Losses:
    """Handles losses; `place` returns where the group's offset of a partition is, for messages."""

    def __init__(self, place: Callable[[TopicPartition], str], *, fail: bool) -> None:
        self.place = place
        self.fail = fail
        self.events = 0
        self.records = 0
        self.old_ends: OldEnds = dict.fromkeys
        """Called if ZooKeeper shows that a topic was recreated. Returns the newest end that was
        seen, or None, of each partition whose log the cluster no longer has as it was last read.
        """

    def skip(self, found: Collection[Gap], known: dict[TopicPartition, K]) -> None:
        """Let the next boundary commit the new position if losses are allowed; else raise an
        error.
        """
        if found and self.fail:
            raise self._refusal(list(found))
        for gap in found:
            at = known.get(gap.partition)
            if gap.kind != "deleted" and at is not None and at.done == gap.position:
                known[gap.partition] = replace(at, done=gap.start)
            self.events += 1
            self.records += gap.lost
            _log.warning(catalogue.warning("ZKG-101", loss=gap.what, action=gap.going_on))

    def _refusal(self, found: list[Gap]) -> DataLossError | OffsetBeyondEndError:
        what = gaps.together([gap.what for gap in found])
        kind = OffsetBeyondEndError if found[0].kind == "beyond" else DataLossError
        return kind(what, gaps.remedy(found[0], self.place(found[0].partition)))
