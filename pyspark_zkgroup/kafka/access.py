"""What the brokers do not let us do, as errors that name the ACL."""

from __future__ import annotations

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.security.kafka_security import KafkaSecurity


def topic_refused(security: KafkaSecurity, topic: str, operation: str) -> AccessError:
    """`operation` as kafka-acls names it: Describe or Read."""
    return AccessError.of(
        "topic_acl",
        user=security.who,
        operation=operation.lower(),
        topic=topic,
        principal=security.principal,
    )
