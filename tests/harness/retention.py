"""Records that a broker deletes before they are read, as retention does, but now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient


def delete_records(bootstrap: str, topic: str, starts: Mapping[int, int]) -> None:
    """Each of these partitions starts at the given offset from here on."""
    admin: Any = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.delete_records({TopicPartition(topic, p): start for p, start in starts.items()})
    finally:
        admin.close()
