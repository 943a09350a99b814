"""Fills topics with records whose bytes a test can foretell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as ForeignTopicPartition

from pyspark_zkgroup.model import TopicPartition
from tests.harness.waiting import wait_until

SEND_DEADLINE_S = 60.0


@contextmanager
def producer(bootstrap: str, **config: Any) -> Iterator[KafkaProducer]:
    made = KafkaProducer(
        bootstrap_servers=bootstrap.split(","), max_request_size=100 << 20, **config
    )
    try:
        yield made
    finally:
        made.close(timeout=SEND_DEADLINE_S)


def produce(
    bootstrap: str,
    tp: TopicPartition,
    values: Sequence[bytes | None],
    *,
    keys: Sequence[bytes | None] | None = None,
    timestamp_ms: int | None = None,
    **config: Any,
) -> list[int]:
    """The offsets the values got."""
    with producer(bootstrap, **config) as made:
        sent = [
            made.send(
                tp.topic,
                value,
                key=b"k" if keys is None else keys[n],
                partition=tp.partition,
                timestamp_ms=timestamp_ms,
            )
            for n, value in enumerate(values)
        ]
        made.flush(timeout=SEND_DEADLINE_S)
        return [future.get(timeout=SEND_DEADLINE_S).offset for future in sent]


def wait_for_end(bootstrap: str, tp: TopicPartition, end: int) -> None:
    """Wait until the log ends there.

    A transaction's marker comes late: the coordinator answers the producer's commit or abort as
    soon as it has written down the outcome, and then sends the markers to the partitions.
    """
    consumer: Any = KafkaConsumer(bootstrap_servers=bootstrap.split(","))
    partition = ForeignTopicPartition(tp.topic, tp.partition)
    try:
        wait_until(
            lambda: consumer.end_offsets([partition])[partition] == end,
            SEND_DEADLINE_S,
            f"{tp} to end at {end}",
        )
    finally:
        consumer.close()
