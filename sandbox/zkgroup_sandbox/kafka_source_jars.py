"""The jars of Spark's own Kafka source, for the Spark of this Python: what tests and the bench
compare with. Fetched and cached like Kafka's.

As a program this prints them, for
`spark-submit --jars "$(python -m zkgroup_sandbox.kafka_source_jars)"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark_zkgroup.delta.jars import installed, print_jars
from pyspark_zkgroup.jars.cache import SCALA_VERSION, Release, Say
from pyspark_zkgroup.jars.maven import release_jars
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS, RECORD

# Not every repository has each version of it, and no query without Kerberos calls it: one that
# all have will do for any Spark 4.
TOKEN_PROVIDER_VERSION = "4.0.0"
POOL_VERSION = "2.12.0"
# The same holds for Avro, of which this one works in Spark 4.1 and 4.2.
AVRO_VERSION = "4.1.1"


def kafka_source_jars(say: Say, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Fetched when this user's cache lacks them."""
    return [
        jar
        for release in releases(installed("pyspark"))
        for jar in release_jars(release, RECORD, say, environment)
    ]


def avro_jars(say: Say, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Those of Spark's from_avro."""
    return release_jars(_of_spark("spark-avro", AVRO_VERSION), RECORD, say, environment)


def protobuf_jars(say: Say, environment: Mapping[str, str] | None = None) -> list[Path]:
    """That of Spark's from_protobuf. Not every repository has it."""
    release = _of_spark("spark-protobuf", installed("pyspark"))
    return release_jars(release, RECORD, say, environment)


def releases(spark: str) -> tuple[Release, ...]:
    """All that pyspark does not bring. Each alone: what they ask for is named here, or is there."""
    return (
        _of_spark("spark-sql-kafka-0-10", spark),
        _of_spark("spark-token-provider-kafka-0-10", TOKEN_PROVIDER_VERSION),
        Release(KAFKA_VERSIONS["3.9"], "", "Kafka's client", "org.apache.kafka", "kafka-clients"),
        Release(POOL_VERSION, "", "commons-pool", "org.apache.commons", "commons-pool2"),
    )


def _of_spark(artifact: str, version: str) -> Release:
    return Release(version, SCALA_VERSION, artifact, "org.apache.spark", artifact)


if __name__ == "__main__":
    print_jars("kafka_source_jars", kafka_source_jars)
