"""What the pages' hosts and directories are where their blocks are run. Nothing else is changed."""

from __future__ import annotations

from collections.abc import Mapping

TABLE = {
    "zk1:2181,zk2:2181/kafka": "{zookeeper}",
    "zk1:2181/kafka": "{zookeeper}",
    "zk1:2281,zk2:2281/kafka": "{zookeeper_tls}",
    "zk1:2281/kafka": "{zookeeper_tls}",
    "broker1:9092": "{brokers}",
    "http://registry1:8081": "{registry}",
    "/data/": "{data}/",
    "/etc/kafka/ca.pem": "{certificates}/ca.pem",
    "/etc/kafka/spark.pem": "{certificates}/client.pem",
}


def standing_in(text: str, place: Mapping[str, str]) -> str:
    """With the place's own addresses. KeyError names one that the scene's servers do not have."""
    for printed in sorted(TABLE, key=len, reverse=True):
        if printed in text:
            text = text.replace(printed, TABLE[printed].format_map(place))
    return text
