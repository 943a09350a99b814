"""Kafka's jars from a Maven repository: fetched several at a time, or an error in one line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import REPOSITORY_VARIABLE
from pyspark_zkgroup.jars.record import of_jars
from zkgroup_sandbox import kafka_jars as room
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS, PLACES, RECORD, kafka_jars
from zkgroup_sandbox.ports import LOOPBACK, free_ports

NAME = "kafka_2.13-3.9.1"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of this machine with a release of three jars, and no other record of it."""
    root = tmp_path / "repository"
    places = [f"org/of/{name}/1/{name}-1.jar" for name in "abc"]
    for place in places:
        (root / place).parent.mkdir(parents=True)
        with zipfile.ZipFile(root / place, "w") as jar:
            jar.writestr("name", place)
    told = tmp_path / "places.json"
    told.write_text(json.dumps({NAME: places}), encoding="utf-8")
    monkeypatch.setattr(room, "PLACES", told)
    monkeypatch.setattr(RECORD, "_jars", {NAME: of_jars_of(root)})
    return root


def of_jars_of(root: Path) -> dict[str, str]:
    return {name: sha for jar in root.rglob("*.jar") for name, sha in of_jars(jar.parent).items()}


def fetched(repository: str, cache: Path, said: list[str]) -> Path:
    environment = {"XDG_CACHE_HOME": str(cache), REPOSITORY_VARIABLE: repository}
    return kafka_jars("3.9", said.append, environment)


def test_all_jars_are_fetched_once(repository: Path, tmp_path: Path) -> None:
    said: list[str] = []
    directory = fetched(repository.as_uri(), tmp_path, said)
    assert of_jars(directory) == of_jars_of(repository)
    assert sorted(p.suffix for p in directory.iterdir()) == [".jar", ".jar", ".jar", ".json"]
    assert len(said) == 2
    assert fetched(repository.as_uri(), tmp_path, said) == directory
    assert len(said) == 2


def test_what_is_missing_in_the_repository_is_named(repository: Path, tmp_path: Path) -> None:
    (repository / "org/of/b/1/b-1.jar").unlink()
    said: list[str] = []
    with pytest.raises(SandboxError, match=r"org/of/b/1/b-1\.jar"):
        fetched(repository.as_uri(), tmp_path, said)
    assert [line for line in said if "attempt 2 of 3 failed" in line]


def test_the_page_of_a_proxy_is_no_jar(repository: Path, tmp_path: Path) -> None:
    (repository / "org/of/b/1/b-1.jar").write_text("<html>Please log in</html>")
    with pytest.raises(SandboxError, match=r"b-1\.jar is not a jar \(does a proxy answer"):
        fetched(repository.as_uri(), tmp_path, [])


def test_another_jar_than_the_one_on_record_is_refused(repository: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(repository / "org/of/b/1/b-1.jar", "w") as jar:
        jar.writestr("name", "of another")
    with pytest.raises(SandboxError, match=r"b-1\.jar has SHA-256"):
        fetched(repository.as_uri(), tmp_path, [])


def test_failed_download_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        fetched(f"https://{LOOPBACK}:{free_ports(1)[0]}/", tmp_path, said)
    text = f"{caught.value}"
    assert "Cannot fetch Kafka 3.9.1 from the Maven repository" in text
    assert f"set {REPOSITORY_VARIABLE} to a mirror" in text
    assert "\n" not in text
    assert [line for line in said if "attempt 1 of 3 failed" in line]
    left = [p.name for p in (tmp_path / "zkgroup" / "jars").iterdir()]
    assert left == [f"{NAME}.lock"]


def test_each_jar_of_kafka_has_a_place_and_a_hash() -> None:
    places: dict[str, list[str]] = json.loads(PLACES.read_text(encoding="utf-8"))
    assert places.keys() >= {f"kafka_2.13-{version}" for version in KAFKA_VERSIONS.values()}
    for release, some in places.items():
        named = {place.rpartition("/")[2]: "" for place in some}
        recorded = json.loads(RECORD.path.read_text(encoding="utf-8"))[release]
        assert named.keys() == recorded.keys(), release
