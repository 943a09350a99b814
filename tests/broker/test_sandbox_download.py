"""Jars from the real repository, into an empty cache. Needs the network and a minute."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pyspark_zkgroup.delta.jars import RECORD, delta_jars, release
from pyspark_zkgroup.jars.record import of_jars
from zkgroup_sandbox.kafka_jars import kafka_jars


@pytest.mark.long
def test_two_starts_at_once_fetch_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    left = cache / "zkgroup" / "jars" / ".fetching-kafka_2.13-3.9.1-killed"
    left.mkdir(parents=True)
    said: list[str] = []
    found: list[Path] = []

    def fetch() -> None:
        environment = {"XDG_CACHE_HOME": str(cache)}
        found.append(kafka_jars("3.9", said.append, environment))

    starts = [threading.Thread(target=fetch) for _ in range(2)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()

    directory = cache / "zkgroup" / "jars" / "kafka_2.13-3.9.1"
    assert found == [directory, directory]
    assert len(list(directory.glob("*.jar"))) > 50
    assert sum(text.startswith("fetching the jars of Kafka") for text in said) == 1
    assert sum("another process is fetching" in text for text in said) == 1
    entries = {p.name for p in directory.parent.iterdir()}
    assert entries == {directory.name, f"{directory.name}.lock"}


@pytest.mark.long
def test_deltas_jars_are_those_on_record_and_need_no_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    found = delta_jars(print, {"XDG_CACHE_HOME": str(tmp_path)})

    (directory,) = {jar.parent for jar in found}
    assert directory.name == release().name
    assert RECORD.has(release().name)
    assert RECORD.difference(release().name, of_jars(directory)) == ""
