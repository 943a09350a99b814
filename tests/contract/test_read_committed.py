"""Transactions, as brokers report them and as they are read."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.kafka import offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.model import Isolation, OffsetRange, TopicPartition
from tests.contract.fetching import TIMEOUT_S, rows, settings_of
from tests.harness.producing import producer
from zkgroup_sandbox import Sandbox

# Three records each: committed, aborted, committed, each followed by a marker; two are open.
ABORTED = {4, 5, 6}
RECORDS = [0, 1, 2, 4, 5, 6, 8, 9, 10]
OPEN, END = 12, 14


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_what_is_read_of_transactions(
    real_servers: Sandbox, topic: str, isolation: Isolation
) -> None:
    real_servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    committed = isolation == "read_committed"
    cluster = Cluster(settings_of(real_servers, isolation=isolation))
    with producer(real_servers.bootstrap_servers, transactional_id=topic) as made:
        made.init_transactions()
        for end in (made.commit_transaction, made.abort_transaction, made.commit_transaction, None):
            made.begin_transaction()
            for n in range(3 if end else 2):
                made.send(topic, b"%d" % n, partition=0)
            made.flush(timeout=TIMEOUT_S)
            if end is not None:
                end()
        try:
            latest = offsets.latest(cluster, [tp], timeout_s=TIMEOUT_S)[tp]
            assert latest == (OPEN if committed else END)
            found = [n for n, _ in rows(cluster, {tp: OffsetRange(0, latest)})[tp]]
            assert found == [
                n
                for n in (*RECORDS, OPEN, OPEN + 1)
                if n < latest
                if not (committed and n in ABORTED)
            ]
            # Although reading begins inside the aborted records, each answer names the transaction.
            (raw,) = read_ranges(cluster, {tp: OffsetRange(5, 9)})
            assert [t.first_offset for t in raw.aborted] == ([4] if committed else [])
            found = [n for n, _ in rows(cluster, {tp: OffsetRange(5, 9)})[tp]]
            assert found == ([8] if committed else [5, 6, 8])
        finally:
            cluster.close()
        made.abort_transaction()
