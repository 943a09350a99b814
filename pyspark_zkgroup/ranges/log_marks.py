"""Decides whether the log of a position is still the log that the brokers have.

What was seen of a log is the newest end that its leader has returned, and its mark: the topic's id
and the leader epoch. Everything before that end was committed in this epoch or an earlier one. The
next answer is one of these:

- *same*: the same epoch of the same topic, or the brokers do not report epochs.
- *later*: another leader was elected. The end of the old epoch in the new leader's log shows
  whether it had the whole log: if that is before the end that was seen, the log was cut there
  (unclean election), and any records from there on are different ones.
- *earlier*: epochs of one topic only grow. Either the answer comes from a broker that lags, or the
  topic was recreated on brokers that keep no topic ids.
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
        """Return what is seen after `end`, of the same log or one that still has all that was
        seen.
        """
        told, known = end.mark, self.mark
        mark = Mark(max(told.epoch, known.epoch), told.topic_id or known.topic_id)
        return SeenEnd(max(self.offset, end.offset), mark)

    def certainly_holds(self, position: int, end: LogEnd) -> bool:
        """Return whether the log has the position, even if `end` is lower.

        Its leader may still have to learn how far the log is committed.
        """
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
    """Return what a later epoch has lost. `epoch_end` is where the epoch seen ends in its log."""
    if epoch_end >= seen.offset:
        return None
    start = min(position, epoch_end)
    return Gap(partition, "truncated", position, start, end.offset, seen.offset, epoch_end)


def anew(
    partition: TopicPartition, position: int, seen: SeenEnd, end: LogEnd, start: int
) -> Gap | None:
    """Return the loss; `start` and `end` are of the new log. None if the old log had no more."""
    if position <= start and seen.offset <= position:
        return None
    return Gap(partition, "recreated", position, start, end.offset, seen.offset)
