"""The jar cache: per user, complete or refetched; a failed download is one clear line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.sandbox import delta_jars, jar_hashes, kafka_source_jars
from pyspark_zkgroup.sandbox import kafka_jars as room
from pyspark_zkgroup.sandbox.delta_jars import installed
from pyspark_zkgroup.sandbox.jar_hashes import MANIFEST
from pyspark_zkgroup.sandbox.kafka_jars import (
    KAFKA_VERSIONS,
    REPOSITORY_VARIABLE,
    Release,
    cache_directory,
    kafka_jars,
    release_jars,
)
from pyspark_zkgroup.sandbox.ports import LOOPBACK, free_ports

POOL = Release("2.12.0", "", "commons-pool", "org.apache.commons", "commons-pool2", "one jar")


def fill_cache(base: Path, name: str = "commons-pool2-2.12.0") -> Path:
    """With a copy of what this user's cache has: its jars are those on record."""
    directory = base / "zkgroup" / "jars" / name
    shutil.copytree(cache_directory(os.environ) / "jars" / name, directory)
    return directory


def pool_jar(directory: Path) -> Path:
    return directory / "commons-pool2-2.12.0.jar"


def never(text: str) -> None:
    raise AssertionError(text)


def test_complete_cache_is_used_without_a_word(tmp_path: Path) -> None:
    directory = fill_cache(tmp_path)
    found = release_jars(POOL, Path("/no/java"), never, {"XDG_CACHE_HOME": str(tmp_path)})
    assert found == directory


@pytest.mark.parametrize("damage", ["gone", "cut short", "changed", "changed twice", "no manifest"])
def test_a_damaged_or_changed_cache_is_noticed(tmp_path: Path, damage: str) -> None:
    """Also by whoever changes the manifest as well: the hashes are in the package."""
    directory = fill_cache(tmp_path)
    jar, manifest = pool_jar(directory), directory / MANIFEST
    if damage == "gone":
        jar.unlink()
    elif damage == "cut short":
        jar.write_bytes(jar.read_bytes()[:-1])
    elif damage == "no manifest":
        manifest.unlink()
    else:
        jar.write_bytes(jar.read_bytes()[:-1] + b"x")
        if damage == "changed twice":
            manifest.write_text(json.dumps(jar_hashes.of_jars(directory)))
    assert not room._complete(directory)


def test_a_fetched_jar_that_is_not_the_one_on_record_is_not_kept(tmp_path: Path) -> None:
    lib = fill_cache(tmp_path / "fetched")
    pool_jar(lib).write_bytes(b"not what was published")
    into = tmp_path / lib.name
    with pytest.raises(SandboxError, match=r"commons-pool2-2\.12\.0\.jar has SHA-256 [0-9a-f]{64}"):
        room._publish(lib, into, never)
    assert not into.exists()


def test_a_release_that_is_not_on_record_is_kept_and_said(tmp_path: Path) -> None:
    lib = fill_cache(tmp_path / "fetched").rename(tmp_path / "fetched" / "lib")
    said: list[str] = []
    room._publish(lib, tmp_path / "commons-pool2-9.9", said.append)
    assert said == ["no SHA-256 of commons-pool2-9.9 is on record: what came first is kept"]
    assert room._complete(tmp_path / "commons-pool2-9.9")


def test_each_release_that_the_project_fetches_is_on_record() -> None:
    wanted = [Release(version) for version in KAFKA_VERSIONS.values()]
    wanted += [*kafka_source_jars.releases(installed("pyspark")), delta_jars._release()]
    assert [r.name for r in wanted if not jar_hashes.is_recorded(r.name)] == []


@pytest.mark.parametrize("address", ["http://maven.example/", "ftp://maven.example/"])
def test_a_repository_without_tls_is_refused(address: str) -> None:
    with pytest.raises(SandboxError, match="must be an https: or file: address"):
        room._settings(Path("/x"), {REPOSITORY_VARIABLE: address})


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

    nobody = f"https://{LOOPBACK}:{free_ports(1)[0]}/"
    environment = {"XDG_CACHE_HOME": str(tmp_path), REPOSITORY_VARIABLE: nobody}
    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        kafka_jars("3.9", find_java(), said.append, environment)
    text = str(caught.value)
    assert "Kafka 3.9.1 could not be fetched from the Maven repository" in text
    assert f"name a mirror in {REPOSITORY_VARIABLE}" in text
    assert "\n" not in text
    # A slow machine is told in between how far it is.
    assert [line for line in said if "attempt 1 of 3 failed" in line]
    left = [p.name for p in (tmp_path / "zkgroup" / "jars").iterdir()]
    assert left == ["kafka_2.13-3.9.1.lock"]
