"""Kafka's jars by Ivy: its settings, its way through a proxy, and a failure in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import REPOSITORY_VARIABLE
from pyspark_zkgroup.jars.java import find_java
from zkgroup_sandbox import kafka_jars as room
from zkgroup_sandbox.kafka_jars import kafka_jars
from zkgroup_sandbox.ports import LOOPBACK, free_ports


def test_the_repository_is_quoted() -> None:
    named = room.ivy_settings(Path("/x"), 'file:///a"b&c')
    assert """ root='file:///a"b&amp;c'""" in named


def test_proxy_of_the_environment_reaches_java() -> None:
    environment = {
        "https_proxy": "http://proxy.example:3128",
        "HTTP_PROXY": "other.example:80",
        "NO_PROXY": "localhost,.inner.example",
    }
    assert room._proxy_flags(environment) == [
        "-Dhttp.proxyHost=other.example",
        "-Dhttp.proxyPort=80",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.inner.example",
    ]
    assert room._proxy_flags({}) == []


def test_failed_download_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    nobody = f"https://{LOOPBACK}:{free_ports(1)[0]}/"
    environment = {"XDG_CACHE_HOME": str(tmp_path), REPOSITORY_VARIABLE: nobody}
    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        kafka_jars("3.9", find_java(), said.append, environment)
    text = f"{caught.value}"
    assert "Cannot fetch Kafka 3.9.1 from the Maven repository" in text
    assert f"set {REPOSITORY_VARIABLE} to a mirror" in text
    assert "\n" not in text
    # On a slow machine, progress is printed in between.
    assert [line for line in said if "attempt 1 of 3 failed" in line]
    left = [p.name for p in (tmp_path / "zkgroup" / "jars").iterdir()]
    assert left == ["kafka_2.13-3.9.1.lock"]
