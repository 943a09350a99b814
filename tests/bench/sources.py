"""The two sources side by side, each with the settings that its own documents recommend."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.sql import SparkSession

from zkgroup_sandbox import Sandbox

Side = Literal["ours", "peer"]
SIDES: tuple[Side, Side] = ("ours", "peer")


@dataclass(frozen=True)
class Servers:
    zookeeper_connect: str
    bootstrap_servers: str
    peer_options: Mapping[str, str] = field(default_factory=dict)
    """For options that may make the peer faster than its defaults."""
    registry_url: str = ""

    @classmethod
    def of(cls, sandbox: Sandbox, peer_options: Mapping[str, str] | None = None) -> Servers:
        return cls(
            sandbox.kafka_zookeeper_connect,
            sandbox.bootstrap_servers,
            dict(peer_options or {}),
            sandbox.registry.url if sandbox.parameters.registry else "",
        )


def stream(
    spark: SparkSession,
    side: Side,
    servers: Servers,
    topic: str,
    *,
    schema: str = "",
    **options: str,
) -> Any:
    """`schema` names the columns of ours."""
    if side == "peer":
        return (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", servers.bootstrap_servers)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .options(**servers.peer_options)
            .options(**options)
            .load()
        )
    reader = spark.readStream.format("zkgroup").options(**our_options(servers, topic), **options)
    return (reader.schema(schema) if schema else reader).load()


def our_options(servers: Servers, topic: str) -> dict[str, str]:
    return {
        "zookeeper.connect": servers.zookeeper_connect,
        # A new group each time: what one has read, its next query would not read again.
        "group.id": f"bench-{uuid.uuid4().hex[:8]}",
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
