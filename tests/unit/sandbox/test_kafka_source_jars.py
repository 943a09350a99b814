"""Spark's own Kafka source: which jars it takes, and from which places of the cache."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pyspark_zkgroup.delta.jars import installed
from pyspark_zkgroup.jars.cache import cache_directory
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


def test_a_complete_cache_is_used_without_a_word(tmp_path: Path) -> None:
    expected = []
    for release in releases(installed("pyspark")):
        directory = tmp_path / "zkgroup" / "jars" / release.name
        shutil.copytree(cache_directory(os.environ) / "jars" / release.name, directory)
        expected.append(directory / f"{release.name}.jar")

    found = kafka_source_jars(never, {"XDG_CACHE_HOME": str(tmp_path)})

    assert found == expected
