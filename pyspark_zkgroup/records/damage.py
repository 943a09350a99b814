"""What every decoder says of a record batch that is not what a broker keeps."""

from __future__ import annotations

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import TopicPartition


class DamagedError(Exception):
    """A record batch is not what a broker keeps; the text says why."""


def damage(partition: TopicPartition, offset: int, reason: object) -> FetchError:
    return FetchError(
        f"The record batch at offset {offset} of {partition} cannot be read: {reason}",
        "Try again; if it stays so, the batch is damaged where the broker keeps it: look at it "
        "with Kafka's tool for dumping log segments, or set the group's offset to one behind it",
        topic=partition.topic,
        partition=partition.partition,
        offset=offset,
    )
