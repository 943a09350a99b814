"""Jars from a Maven repository: which ones, from where, and what a failure says."""

from __future__ import annotations

import ssl
import threading
import zipfile
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import REPOSITORY_VARIABLE, Release
from pyspark_zkgroup.jars.maven import CENTRAL, release_jars, repository
from pyspark_zkgroup.jars.record import Record
from zkgroup_sandbox.certificates import Certificates

OURS = "com.example"
RELEASE = Release("1.0", "", "Example", OURS, "main")
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>{}</dependency>"


class Repository:
    """A directory that `file:` addresses name, with jars that are zip files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "repository"
        self.environment = {
            "XDG_CACHE_HOME": str(directory / "cache"),
            REPOSITORY_VARIABLE: self.directory.as_uri(),
        }
        self.jars = directory / "cache" / "zkgroup" / "jars"
        self.record = Record(directory / "none.json")
        self.said: list[str] = []

    def add(self, module: str, dependencies: Sequence[str] = (), version: str = "1.0") -> Path:
        place = self.directory / "com" / "example" / module / version
        place.mkdir(parents=True)
        jar = place / f"{module}-{version}.jar"
        with zipfile.ZipFile(jar, "w") as content:
            content.writestr("name", module)
        jar.with_suffix(".pom").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies>'
            f"{''.join(dependencies)}</dependencies></project>"
        )
        return jar

    def fetch(self, *, dependencies: bool) -> list[str]:
        found = release_jars(
            RELEASE, self.record, self.said.append, self.environment, dependencies=dependencies
        )
        return [jar.name for jar in found]


@pytest.fixture
def maven(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def needs(module: str, more: str = "", organisation: str = OURS) -> str:
    return DEPENDENCY.format(organisation, module, f"<version>1.0</version>{more}")


def test_jars_of_the_same_organisation_that_run_it_come_with_it(maven: Repository) -> None:
    main = [
        needs("storage"),
        needs("kernel", "<scope>runtime</scope>"),
        needs("checks", "<scope>test</scope>"),
        needs("given", "<scope>provided</scope>"),
        needs("maybe", "<optional>true</optional>"),
        needs("spark-sql", organisation="org.apache.spark"),
    ]
    maven.add("main", main)
    maven.add("storage", [needs("deep")])
    maven.add("kernel", [needs("storage")])
    maven.add("deep", [needs("main")])

    found = maven.fetch(dependencies=True)

    assert found == ["deep-1.0.jar", "kernel-1.0.jar", "main-1.0.jar", "storage-1.0.jar"]
    assert sum("fetching the jars of Example 1.0" in text for text in maven.said) == 1
    assert sorted(p.name for p in maven.jars.iterdir()) == ["main-1.0", "main-1.0.lock"]


def test_one_jar_is_fetched_without_what_it_needs_and_only_once(maven: Repository) -> None:
    jar = maven.add("main", [needs("storage")])

    assert maven.fetch(dependencies=False) == ["main-1.0.jar"]

    jar.unlink()
    maven.said.clear()
    assert maven.fetch(dependencies=False) == ["main-1.0.jar"]
    assert maven.said == []


def test_a_page_in_the_place_of_a_jar_is_not_kept(maven: Repository) -> None:
    maven.add("main").write_text("<html>log in first</html>")

    with pytest.raises(SandboxError, match=r"main-1\.0\.jar is not a jar \(does a proxy") as caught:
        maven.fetch(dependencies=False)

    assert "\n" not in f"{caught.value}"
    assert [p.name for p in maven.jars.iterdir()] == ["main-1.0.lock"]


def test_a_jar_that_is_missing_is_named_after_three_attempts(maven: Repository) -> None:
    maven.add("main", [needs("storage")])

    with pytest.raises(SandboxError, match=r"storage/1\.0/storage-1\.0\.jar") as caught:
        maven.fetch(dependencies=True)

    assert f"set {REPOSITORY_VARIABLE} to a mirror" in f"{caught.value}"
    assert [text.partition(" (")[0] for text in maven.said[1:]] == [
        "attempt 1 of 3 failed",
        "attempt 2 of 3 failed",
    ]


def test_a_recorded_release_with_another_jar_is_refused(maven: Repository) -> None:
    maven.add("main")
    maven.fetch(dependencies=False)
    maven.record.add([maven.jars / "main-1.0"])
    maven.record = Record(maven.record.path)
    jar = maven.directory / "com" / "example" / "main" / "1.0" / "main-1.0.jar"
    with zipfile.ZipFile(jar, "a") as content:
        content.writestr("more", "")
    (maven.jars / "main-1.0" / "main-1.0.jar").unlink()

    with pytest.raises(SandboxError, match=r"main-1\.0\.jar has SHA-256 [0-9a-f]{64}"):
        maven.fetch(dependencies=False)


@pytest.mark.parametrize("address", ["http://maven.example/", "ftp://maven.example/", "x"])
def test_a_repository_without_tls_is_refused(address: str) -> None:
    with pytest.raises(SandboxError, match="must be an https: or file: address"):
        repository({REPOSITORY_VARIABLE: address})


def test_a_repository_can_be_named() -> None:
    assert repository({}) == CENTRAL
    assert repository({REPOSITORY_VARIABLE: ""}) == CENTRAL
    assert repository({REPOSITORY_VARIABLE: "https://m.example/a"}) == "https://m.example/a/"


@pytest.fixture
def leading_out_of_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server with TLS that sends its clients to one without, which has a jar."""
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as content:
        content.writestr("a", "")
    jar = (tmp_path / "a.jar").read_bytes()

    class Plain(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(jar)

    class Secure(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{plain.server_port}/a.jar")
            self.end_headers()

    certificates = Certificates.make(tmp_path / "certificates")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.both)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Plain) as plain,
        ThreadingHTTPServer(("127.0.0.1", 0), Secure) as secure,
    ):
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        threads = [threading.Thread(target=one.serve_forever) for one in (plain, secure)]
        for thread in threads:
            thread.start()
        yield f"https://127.0.0.1:{secure.server_port}/"
        for one in (plain, secure):
            one.shutdown()
        for thread in threads:
            thread.join()


def test_a_redirection_that_leaves_tls_is_refused(
    maven: Repository, leading_out_of_tls: str
) -> None:
    maven.environment[REPOSITORY_VARIABLE] = leading_out_of_tls

    with pytest.raises(SandboxError, match=r"leads to http://127.*, which is not over TLS"):
        maven.fetch(dependencies=False)

    assert not (maven.jars / "main-1.0").exists()
