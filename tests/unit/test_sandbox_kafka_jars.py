"""The jar cache: per user, complete or refetched; a failed download is one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.sandbox import kafka_jars as room
from pyspark_zkgroup.sandbox.kafka_jars import REPOSITORY_VARIABLE, cache_directory, kafka_jars
from pyspark_zkgroup.sandbox.ports import LOOPBACK, free_ports


def fill_cache(base: Path) -> Path:
    directory = base / "zkgroup" / "jars" / "kafka_2.13-3.9.1"
    directory.mkdir(parents=True)
    (directory / "a.jar").write_bytes(b"12345")
    (directory / room.MANIFEST).write_text(json.dumps({"a.jar": 5}))
    return directory


def never(text: str) -> None:
    raise AssertionError(text)


def test_complete_cache_is_used_without_a_word(tmp_path: Path) -> None:
    directory = fill_cache(tmp_path)
    found = kafka_jars("3.9", Path("/no/java"), never, {"XDG_CACHE_HOME": str(tmp_path)})
    assert found == directory


@pytest.mark.parametrize("damage", ["a file is gone", "a file is cut short", "no manifest"])
def test_damaged_cache_is_noticed(tmp_path: Path, damage: str) -> None:
    directory = fill_cache(tmp_path)
    if damage == "a file is gone":
        (directory / "a.jar").unlink()
    elif damage == "a file is cut short":
        (directory / "a.jar").write_bytes(b"1")
    else:
        (directory / room.MANIFEST).unlink()
    assert not room._complete(directory)


def test_cache_place() -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/zkgroup")
    assert cache_directory({"HOME": "/h"}) == Path("/h/.cache/zkgroup")
    assert cache_directory({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path(
        "/h/.cache/zkgroup"
    )


def test_repository_can_be_named_and_is_quoted() -> None:
    assert "root=" not in room._settings(Path("/x"), {})
    named = room._settings(Path("/x"), {REPOSITORY_VARIABLE: 'file:///a"b&c'})
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


def test_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxError, match=r"cache directory .* cannot be made.*XDG_CACHE_HOME"):
        kafka_jars("3.9", Path("java"), never, {"XDG_CACHE_HOME": str(tmp_path / "file")})


def test_failed_download_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    from pyspark_zkgroup.sandbox.java import find_java

    nobody = f"http://{LOOPBACK}:{free_ports(1)[0]}/"
    environment = {"XDG_CACHE_HOME": str(tmp_path), REPOSITORY_VARIABLE: nobody}
    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        kafka_jars("3.9", find_java(), said.append, environment)
    text = str(caught.value)
    assert "Kafka 3.9.1 could not be fetched from the Maven repository" in text
    assert f"name a mirror in {REPOSITORY_VARIABLE}" in text
    assert "\n" not in text
    assert "attempt 1 of 3 failed" in said[1]
    left = [p.name for p in (tmp_path / "zkgroup" / "jars").iterdir()]
    assert left == ["kafka_2.13-3.9.1.lock"]
