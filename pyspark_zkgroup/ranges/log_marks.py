"""Whether the log that a position was read in is still the log that the brokers have.

What was seen of a log is the newest end that its leader has named, and the mark of it: the topic's
id and the leader epoch. Everything before that end was committed in this epoch or an earlier one.
So with the next answer one of these holds.

- *same*: the same epoch of the same topic, or brokers that do not tell.
- *later*: another leader was elected. Whether it had all of the log tells the end of the old epoch
  in its log: an end before what was seen means that the log was cut there (unclean election), and
  records from there on are others than those that were seen, if there are any.
- *earlier*: epochs of one topic only grow. Either the answer is of a broker that lags, or the topic
  was made anew on brokers that keep no topic ids.
- *other*: the topic has another id, in an answer that may be the older one of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark_zkgroup.model import LogEnd, Mark, TopicPartition
from pyspark_zkgroup.ranges.gaps import Gap

Change = Literal["same", "later", "earlier", "other"]


@dataclass(frozen=True, slots=True)
class SeenEnd:
    offset: int
    mark: Mark

    def and_then(self, end: LogEnd) -> SeenEnd:
        """Of one log, or of one that still holds all that was seen."""
        told, known = end.mark, self.mark
        mark = Mark(max(told.epoch, known.epoch), told.topic_id or known.topic_id)
        return SeenEnd(max(self.offset, end.offset), mark)

    def certainly_holds(self, position: int, end: LogEnd) -> bool:
        """However low the end seems: its leader has yet to learn how far the log is committed."""
        return (
            position <= self.offset
            and self.mark.is_known
            and end.mark.is_known
            and self.mark.topic_id == end.mark.topic_id != ""
        )


def change(seen: Mark, told: Mark) -> Change:
    if told.is_of_other_topic(seen):
        return "other"
    if not seen.is_known or not told.is_known or seen.epoch == told.epoch:
        return "same"
    return "later" if told.epoch > seen.epoch else "earlier"


def cut(
    partition: TopicPartition, position: int, seen: SeenEnd, end: LogEnd, epoch_end: int
) -> Gap | None:
    """What a later epoch has cost. `epoch_end`: where the epoch that was seen ends in its log."""
    if epoch_end >= seen.offset:
        return None
    start = min(position, epoch_end)
    return Gap(partition, "truncated", position, start, end.offset, seen.offset, epoch_end)


def anew(
    partition: TopicPartition, position: int, seen: SeenEnd, end: LogEnd, start: int
) -> Gap | None:
    """`start` and `end` are of the new log. Nothing was lost where nothing was there."""
    if position <= start and seen.offset <= position:
        return None
    return Gap(partition, "anew", position, start, end.offset, seen.offset)
