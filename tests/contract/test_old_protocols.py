"""The same records from brokers that use older versions of the protocol."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.contract.fetching import (
    TIMEOUT_S,
    numbered,
    rows,
    settings_of,
    to_table,
    values,
)
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox


@pytest.mark.parametrize("version", [(0, 11), (1, 0), (2, 0), (2, 5), (3, 0)])
def test_requests_of_older_brokers(
    real_servers: Sandbox, topic: str, version: tuple[int, ...]
) -> None:
    real_servers.create_topic(topic, 2)
    tp = TopicPartition(topic, 1)
    produce(real_servers.bootstrap_servers, tp, values(50))
    cluster = Cluster(settings_of(real_servers), broker_version=version)
    try:
        assert metadata.topics(cluster, [topic], timeout_s=TIMEOUT_S) == {topic: (0, 1)}
        assert offsets.latest(cluster, [tp], timeout_s=TIMEOUT_S) == {tp: 50}
        assert rows(cluster, {tp: OffsetRange(5, 50)}) == {tp: numbered(5, 50)}
    finally:
        cluster.close()


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize(("version", "kind"), [((0, 10, 1), 0), ((0, 9), -1)])
def test_message_sets_of_older_brokers(
    sandbox: Sandbox, topic: str, codec: str, version: tuple[int, ...], kind: int
) -> None:
    """Asked with old requests, a 3.9 broker converts batches to the old message sets."""
    sandbox.create_topic(topic, 1, {"compression.type": codec})
    tp = TopicPartition(topic, 0)
    sent = [b"%d" % n * 20 for n in range(500)]
    produce(sandbox.bootstrap_servers, tp, sent, timestamp_ms=1_600_000_000_123)
    cluster = Cluster(settings_of(sandbox), broker_version=version)
    try:
        table = to_table(read_ranges(cluster, {tp: OffsetRange(7, 490)}))
    finally:
        cluster.close()
    assert table["offset"].to_pylist() == list(range(7, 490))
    assert table["value"].to_pylist() == sent[7:490]
    assert set(table["timestampType"].to_pylist()) == {kind}
    expected_us = 1_600_000_000_123_000 if kind == 0 else -1000
    assert set(table["timestamp"].cast(pa.int64()).to_pylist()) == {expected_us}
