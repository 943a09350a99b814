"""What the brokers do not let us do, as errors that name the ACL."""

from __future__ import annotations

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.security.kafka_security import KafkaSecurity


def topic_refused(security: KafkaSecurity, topic: str, operation: str) -> AccessError:
    """`operation` as kafka-acls names it: Describe or Read."""
    return AccessError(
        f"The brokers do not let {security.who} {operation.lower()} topic {topic!r} "
        "(TopicAuthorizationFailed)",
        "Add the ACLs: kafka-acls --add --allow-principal "
        f"{security.principal} --operation Read --operation Describe --topic {topic}",
    )
