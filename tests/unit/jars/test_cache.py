"""The cache of jars: per user, complete or fetched again, and compared with the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyspark_zkgroup.delta import jars
from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import (
    MANIFEST,
    Release,
    cache_directory,
    complete,
    kept,
    publish,
)
from pyspark_zkgroup.jars.lock import lock
from pyspark_zkgroup.jars.record import Record, of_jars
from zkgroup_sandbox import kafka_source_jars
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS, RECORD

POOL = Release("2.12.0", "", "commons-pool", "org.apache.commons", "commons-pool2")


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """As that of the package, of a jar that no machine has to fetch before."""
    path = tmp_path / "jar_hashes.json"
    Record(path).add([fill_cache(tmp_path / "published")])
    return Record(path)


def fill_cache(base: Path) -> Path:
    directory = base / "zkgroup" / "jars" / POOL.name
    directory.mkdir(parents=True)
    pool_jar(directory).write_bytes(b"what was published")
    (directory / MANIFEST).write_text(json.dumps(of_jars(directory)))
    return directory


def pool_jar(directory: Path) -> Path:
    return directory / "commons-pool2-2.12.0.jar"


def never(text: str) -> None:
    raise AssertionError(text)


def unreachable(work: Path) -> str:
    raise AssertionError(work)


def test_a_complete_cache_is_used_without_a_word(tmp_path: Path, record: Record) -> None:
    directory = fill_cache(tmp_path)
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    assert kept(POOL, record, unreachable, never, environment) == directory


@pytest.mark.parametrize("damage", ["gone", "cut short", "changed", "changed twice", "no manifest"])
def test_a_damaged_or_changed_cache_is_noticed(tmp_path: Path, record: Record, damage: str) -> None:
    """Also if the manifest is changed too: the hashes are in the package."""
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
            manifest.write_text(json.dumps(of_jars(directory)))
    assert not complete(directory, record)


def test_a_fetched_jar_that_is_not_the_one_on_record_is_not_kept(
    tmp_path: Path, record: Record
) -> None:
    lib = fill_cache(tmp_path / "fetched")
    pool_jar(lib).write_bytes(b"not what was published")
    into = tmp_path / lib.name
    with pytest.raises(SandboxError, match=r"commons-pool2-2\.12\.0\.jar has SHA-256 [0-9a-f]{64}"):
        publish(lib, into, record, never)
    assert not into.exists()


def test_a_release_without_a_recorded_hash_is_kept_and_reported(
    tmp_path: Path, record: Record
) -> None:
    lib = fill_cache(tmp_path / "fetched").rename(tmp_path / "fetched" / "lib")
    said: list[str] = []
    publish(lib, tmp_path / "commons-pool2-9.9", record, said.append)
    assert said == ["no SHA-256 of commons-pool2-9.9 is on record: what came first is kept"]
    assert complete(tmp_path / "commons-pool2-9.9", record)


def test_jars_of_the_cache_are_added_to_the_recorded_ones(tmp_path: Path) -> None:
    directory = fill_cache(tmp_path)
    path = tmp_path / "record.json"
    path.write_text('{"other-1.0": {"other-1.0.jar": "0"}}')

    Record(path).add([directory])

    written = Record(path)
    assert [n for n in ("other-1.0", POOL.name, "none-1.0") if not written.has(n)] == ["none-1.0"]
    found = of_jars(directory)
    assert written.difference(POOL.name, found) == ""
    assert "expected no such jar" in written.difference(POOL.name, {"a.jar": "1", **found})


def test_each_release_that_the_project_fetches_is_on_record() -> None:
    wanted = [Release(version) for version in KAFKA_VERSIONS.values()]
    wanted += kafka_source_jars.releases(jars.installed("pyspark"))
    assert [r.name for r in wanted if not RECORD.has(r.name)] == []
    assert jars.RECORD.has(jars.release().name)


def test_cache_place() -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/zkgroup")
    assert cache_directory({"HOME": "/h"}) == Path("/h/.cache/zkgroup")
    assert cache_directory({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path(
        "/h/.cache/zkgroup"
    )


def test_cache_that_cannot_be_made_is_named(tmp_path: Path, record: Record) -> None:
    (tmp_path / "file").write_text("")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    with pytest.raises(SandboxError, match=r"cache directory .* cannot be made.*XDG_CACHE_HOME"):
        kept(POOL, record, unreachable, never, environment)


def test_lock_excludes_and_says_that_it_is_busy(tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "lock"
    with (
        lock(path),
        pytest.raises(SandboxError, match="held by another process"),
        lock(path, deadline_s=0.05, busy=lambda: said.append("busy")),
    ):
        pass
    assert said == ["busy"]
    with lock(path, deadline_s=0.0):
        pass
