"""Spark's own Kafka source: which jars it takes, and from which places of the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyspark_zkgroup.delta.jars import installed
from pyspark_zkgroup.jars.cache import MANIFEST
from pyspark_zkgroup.jars.record import Record, of_jars
from zkgroup_sandbox.kafka_source_jars import kafka_source_jars, releases


def never(text: str) -> None:
    raise AssertionError(text)


def test_the_source_is_that_of_the_spark_it_runs_in() -> None:
    assert [release.name for release in releases("4.1.4")] == [
        "spark-sql-kafka-0-10_2.13-4.1.4",
        "spark-token-provider-kafka-0-10_2.13-4.0.0",
        "kafka-clients-3.9.1",
        "commons-pool2-2.12.0",
    ]


def test_a_complete_cache_is_used_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jars made here: a machine that only runs the quick tests has fetched none."""
    expected = []
    for release in releases(installed("pyspark")):
        directory = tmp_path / "zkgroup" / "jars" / release.name
        directory.mkdir(parents=True)
        expected.append(directory / f"{release.name}.jar")
        expected[-1].write_bytes(release.name.encode())
        (directory / MANIFEST).write_text(json.dumps(of_jars(directory)))
    record = tmp_path / "jar_hashes.json"
    Record(record).add(jar.parent for jar in expected)
    monkeypatch.setattr("zkgroup_sandbox.kafka_source_jars.RECORD", Record(record))

    found = kafka_source_jars(never, {"XDG_CACHE_HOME": str(tmp_path)})

    assert found == expected
