"""The brokers' group of the same name as one of ours: its offsets in Kafka, and live consumers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as TheirPartition

from tests.harness.group import Group
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def kept(group: Group, topic: str, partitions: int = 2) -> dict[int, int | None]:
    """Return the group's offsets as a consumer of kafka-python finds them."""
    with consumer_of(group.sandbox, group.name) as consumer:
        return {n: consumer.committed(TheirPartition(topic, n)) for n in range(partitions)}


def keep(group: Group, topic: str, offsets: dict[int, int]) -> None:
    """Commit offsets as a client that is not a zkgroup member."""
    with consumer_of(group.sandbox, group.name) as consumer:
        partitions = {TheirPartition(topic, n): o for n, o in offsets.items()}
        consumer.assign(list(partitions))
        consumer.commit({p: OffsetAndMetadata(o, "", -1) for p, o in partitions.items()})


def consumer_of(servers: Sandbox, group: str, client_id: str = "consumer") -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=servers.bootstrap_servers,
        group_id=group,
        client_id=client_id,
        enable_auto_commit=False,
        # On a busy machine its goodbye may not be heard: the shortest that brokers allow.
        session_timeout_ms=6000,
        heartbeat_interval_ms=1000,
    )


@contextmanager
def live_consumer(servers: Sandbox, group: str, topic: str) -> Iterator[None]:
    """Hold a consumer in a group that the brokers coordinate, polled by its own thread."""
    with consumer_of(servers, group, "a-live-consumer") as consumer:
        # kafka-python joins without waiting for its first metadata. If they arrive while it leads
        # the assignment, it assigns nothing and looks again when its metadata are five minutes old.
        wait_until(lambda: consumer.partitions_for_topic(topic), 30, "the topic's partitions")
        consumer.subscribe([topic])
        stop = threading.Event()

        def poll() -> None:
            while not stop.is_set():
                consumer.poll(timeout_ms=100)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            wait_until(lambda: bool(consumer.assignment()), 30, "a rebalance of the brokers' group")
            yield
        finally:
            stop.set()
            thread.join()
