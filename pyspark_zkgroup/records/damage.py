"""What every decoder says of a record batch that is not what a broker keeps."""

from __future__ import annotations

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import TopicPartition


class DamagedError(Exception):
    """A record batch is not what a broker keeps; the text says why."""


def damage(partition: TopicPartition, offset: int, reason: object) -> FetchError:
    return FetchError.of("damaged_batch", partition=partition, offset=offset, reason=reason)
