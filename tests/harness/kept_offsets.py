"""A group of the brokers' beside one of ours: offsets that Kafka keeps, and live consumers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as TheirPartition

from tests.harness.group import Group
from tests.harness.waiting import wait_until


def kept(group: Group, topic: str, partitions: int = 2) -> dict[int, int | None]:
    """As a consumer of kafka-python finds the group's offsets."""
    with consumer_of(group) as consumer:
        return {n: consumer.committed(TheirPartition(topic, n)) for n in range(partitions)}


def keep(group: Group, topic: str, offsets: dict[int, int]) -> None:
    """As somebody else commits them."""
    with consumer_of(group) as consumer:
        partitions = {TheirPartition(topic, n): o for n, o in offsets.items()}
        consumer.assign(list(partitions))
        consumer.commit({p: OffsetAndMetadata(o, "", -1) for p, o in partitions.items()})


def consumer_of(group: Group, client_id: str = "somebody") -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=group.sandbox.bootstrap_servers,
        group_id=group.name,
        client_id=client_id,
        enable_auto_commit=False,
        # On a busy machine its goodbye may not be heard: the shortest that brokers allow.
        session_timeout_ms=6000,
        heartbeat_interval_ms=1000,
    )


@contextmanager
def live_consumer(group: Group, topic: str) -> Iterator[None]:
    """In a group of the brokers' with the same name, polled by a thread of its own."""
    with consumer_of(group, "a-live-consumer") as consumer:
        consumer.subscribe([topic])
        stop = threading.Event()

        def poll() -> None:
            while not stop.is_set():
                consumer.poll(timeout_ms=100)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            wait_until(lambda: bool(consumer.assignment()), 30, "a rebalance of the brokers'")
            yield
        finally:
            stop.set()
            thread.join()
