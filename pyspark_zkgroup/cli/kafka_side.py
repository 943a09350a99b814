"""The offsets of a group that stand in Kafka, for commands that show or set those in ZooKeeper."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.inspect.reset import Move
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.owned.rules.kafka_copy import (
    is_copy,
    live_group,
    note_of,
    refusal_text,
)

_BY_HAND = "by hand"


@dataclass(frozen=True)
class KafkaSide:
    """`untold` is why the brokers have not said what they have."""

    group: str
    brokers: LogEnds
    stored: Mapping[TopicPartition, StoredOffset]
    untold: str = ""

    def copies(self, wanted: Sequence[Move], *, also: bool) -> dict[TopicPartition, int]:
        """Return what to set in Kafka as well: copies of what is about to change, or all if asked.

        Offsets of another writer may be those of another group with the same name.
        """
        return {
            move.partition: move.after
            for move in wanted
            if also or ((at := self.stored.get(move.partition)) is not None and is_copy(at))
        }

    def left_out(self, wanted: Sequence[Move], copies: Collection[TopicPartition]) -> str:
        """Return the note about offsets in Kafka that are not going to be set."""
        if self.untold:
            return f"Offsets in Kafka, if there are any, are not set: {self.untold}"
        others = [m.partition for m in wanted if m.partition in self.stored.keys() - copies]
        if not others:
            return ""
        return (
            f"Kafka has offsets of {first_few(others, 1, kind='partition')} that no zkgroup "
            "member has written: --also-kafka sets them too"
        )

    def refuse_live_group(self) -> None:
        members = self.brokers.group_members(self.group)
        if members:
            raise live_group(self.group, members)

    def write(self, copies: Mapping[TopicPartition, int]) -> None:
        """After ZooKeeper's, so that members never see an offset in Kafka that is not in force."""
        try:
            refused = self.brokers.commit(self.group, copies, note_of(_BY_HAND))
            reason = refusal_text(refused) if refused else ""
        except ServerError as error:
            reason = error.what
        if reason:
            raise ServerError.of("kafka_offsets_not_set", reason=reason)


def kafka_side(
    group: str, brokers: LogEnds, partitions: Collection[TopicPartition] | None
) -> KafkaSide:
    """None asks for all that the group has."""
    try:
        return KafkaSide(group, brokers, brokers.stored(group, partitions))
    except ServerError as error:
        return KafkaSide(group, brokers, {}, error.what)
