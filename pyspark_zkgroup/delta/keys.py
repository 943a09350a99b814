"""The columns that say which record a row comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.ranges import Box
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import Column

NAMES = ("topic", "partition", "offset", "epoch")


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of these columns in the table and the batch, and the epoch, where there is one."""

    topic: str = "topic"
    partition: str = "partition"
    offset: str = "offset"
    epoch_column: str = "epoch"
    epoch: int | None = None

    @property
    def record(self) -> tuple[str, str, str]:
        return self.topic, self.partition, self.offset

    @property
    def unique(self) -> tuple[str, ...]:
        return self.record if self.epoch is None else (*self.record, self.epoch_column)

    def of(self, name: str) -> Column:
        from pyspark.sql import functions as f

        return f.col("`" + name.replace("`", "``") + "`")

    def covered(self, boxes: tuple[Box, ...]) -> Column:
        """Whether a row lies in one of the boxes; null where a column is null."""
        return reduce(
            or_,
            (
                (self.of(self.topic) == box.topic)
                & self.of(self.partition).isin(list(box.partitions))
                & self.of(self.offset).between(box.lowest, box.highest)
                for box in boxes
            ),
        )

    def planned(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Column:
        """Whether a row lies in the range of its partition; null where there is none.

        The bounds are looked up in arrays. Spark writes a number into the code that it generates
        for the rows, and would compile that code again for each batch, and run it cold. It passes
        an array to the code instead.
        """
        by_topic: dict[str, dict[int, OffsetRange]] = {}
        for of, r in ranges.items():
            by_topic.setdefault(of.topic, {})[of.partition] = r
        offset = self.of(self.offset)
        return reduce(
            or_,
            (
                (self.of(self.topic) == topic)
                & (offset >= self._of_its_partition({p: r.start for p, r in spans.items()}))
                & (offset < self._of_its_partition({p: r.until for p, r in spans.items()}))
                for topic, spans in by_topic.items()
            ),
        )

    def _of_its_partition(self, numbers: Mapping[int, int]) -> Column:
        from pyspark.sql import functions as f

        # As text: a call into the JVM for each number would take longer than everything else.
        known = (f"{numbers[p]}L" if p in numbers else "null" for p in range(max(numbers) + 1))
        return f.get(f.expr(f"array({', '.join(known)})"), self.of(self.partition).cast("int"))

    def same_partitions(self, boxes: tuple[Box, ...]) -> Column:
        """Return the condition by which Delta tells whose appends conflict, where the table is
        partitioned by topic and partition: of a commit made meanwhile it looks at partition values
        only.
        """
        by_topic: dict[str, set[int]] = {}
        for box in boxes:
            by_topic.setdefault(box.topic, set()).update(box.partitions)
        return reduce(
            or_,
            (
                (self.of(self.topic) == topic) & self.of(self.partition).isin(sorted(partitions))
                for topic, partitions in by_topic.items()
            ),
        )


def keys(columns: Mapping[str, str] | None, epoch: int | None) -> Keys:
    """`columns` maps our names to the user's; those that are not named keep ours."""
    given = dict(columns or {})
    if unknown := sorted(given.keys() - set(NAMES)):
        raise OptionError(
            f"columns= names {', '.join(map(repr, unknown))}, which is no column of a record",
            f"Map only {', '.join(NAMES)} to names of the table's columns",
        )
    names = {**{name: name for name in NAMES}, **given}
    if len(set(names.values())) < len(NAMES):
        raise OptionError(
            f"columns= gives two of {', '.join(NAMES)} the same column of the table: {names}",
            "Map each of them to another column",
        )
    if epoch is not None and (isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0):
        raise OptionError(
            f"epoch= is {epoch!r}, which is no epoch",
            "Give a whole number from 0 on, or None for tables without epochs",
        )
    return Keys(names["topic"], names["partition"], names["offset"], names["epoch"], epoch)
