"""The judge itself: a test that trusts it must know that it sees."""

from __future__ import annotations

from pathlib import Path

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.harness.oracle import judge
from tests.spark.sink import Sink, deliver

PRODUCED = [("t", partition, offset) for partition in (0, 1) for offset in range(3)]


def test_everything_once() -> None:
    verdict = judge(PRODUCED, reversed(PRODUCED))

    assert verdict.exactly_once
    assert str(verdict) == "acknowledged 6, delivered 6, missing 0, duplicates 0, unknown 0"


def test_each_fault_is_seen_and_named() -> None:
    verdict = judge(PRODUCED, [*PRODUCED[:5], PRODUCED[0], PRODUCED[0], ("u", 0, 9)])

    assert not verdict.exactly_once
    assert verdict.missing == (("t", 1, 2),)
    assert verdict.duplicates == {("t", 0, 0): 3}
    assert verdict.unknown == (("u", 0, 9),)
    assert "missing 1 (t-1: 2..2)" in str(verdict)


def test_a_batch_delivered_twice_is_in_the_sink_twice(tmp_path: Path) -> None:
    rows = [("t", 0, 4), ("t", 0, 5), ("t", 0, 8), ("t", 0, 4)]
    for ended in (2.0, 1.0):
        deliver(tmp_path, 7, 0.5, ended, rows)

    first, second = Sink(tmp_path).deliveries()

    assert (first.batch, first.ended, second.ended) == (7, 1.0, 2.0)
    partition = TopicPartition("t", 0)
    assert first.ranges == {partition: (OffsetRange(4, 5), OffsetRange(4, 6), OffsetRange(8, 9))}
    assert sorted(first.records()) == sorted(rows)
