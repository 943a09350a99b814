"""A schema registry: Apicurio, with its API that is compatible with Confluent's."""

from __future__ import annotations

import json
import shutil
import tarfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pyspark_zkgroup.jars.cache import Release, Say, kept
from pyspark_zkgroup.jars.maven import opened, repository
from zkgroup_sandbox.jvm import java_command
from zkgroup_sandbox.kafka_jars import RECORD
from zkgroup_sandbox.ports import LOOPBACK
from zkgroup_sandbox.server import Server
from zkgroup_sandbox.state import Parameters

# The last one that runs on Java 17.
VERSION = "3.0.9"
NAME = "registry-1"
API = "/apis/ccompat/v7"
HEAP_MB = 256
ANSWER_TIMEOUT_S = 10.0

_MAIN_CLASS = "io.quarkus.runner.GeneratedMain"
_ARCHIVE = f"apicurio-registry-app-{VERSION}-all.tar.gz"


def registry_jars(say: Say, environment: Mapping[str, str]) -> Path:
    """The directory with the registry's jars, fetched when this user's cache lacks them."""
    release = Release(VERSION, "", "Apicurio Registry", "io.apicurio", "apicurio-registry-app")
    place = f"{repository(environment)}io/apicurio/apicurio-registry-app/{VERSION}/{_ARCHIVE}"

    def fetch(work: Path) -> str:
        archive, lib = work / _ARCHIVE, work / "lib"
        lib.mkdir(exist_ok=True)
        try:
            with opened(place) as answer, archive.open("wb") as file:
                shutil.copyfileobj(answer, file)
            with tarfile.open(archive) as packed:
                for member in packed:
                    if member.isfile() and member.name.endswith(".jar"):
                        unpacked = packed.extractfile(member)
                        assert unpacked is not None
                        with (lib / Path(member.name).name).open("wb") as jar:
                            shutil.copyfileobj(unpacked, jar)
        except (OSError, tarfile.TarError) as error:
            return " ".join(str(error).split()) or type(error).__name__
        return ""

    return kept(release, RECORD, fetch, say, environment)


def registry_names(parameters: Parameters) -> tuple[str, ...]:
    return (NAME,) if parameters.registry else ()


class Registry(Server):
    """Its schemas outlive it."""

    @property
    def url(self) -> str:
        """What schema.registry.url takes."""
        return f"http://{self.address}{API}"

    def write_config(self) -> None:
        self.layout.data(self.name).mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        state = self.state()
        return java_command(
            self.layout,
            Path(state.java),
            name=self.name,
            token=state.token,
            heap_mb=HEAP_MB,
            jars=sorted(Path(state.registry_jars).glob("*.jar")),
            flags=[
                f"-Dquarkus.http.host={LOOPBACK}",
                f"-Dquarkus.http.port={self.port}",
                # Without a delay, a killed registry has written all that it has taken.
                "-Dapicurio.datasource.url="
                f"jdbc:h2:file:{self.layout.data(self.name)}/schemas;WRITE_DELAY=0",
                "-Dapicurio.rest.deletion.artifact.enabled=true",
                "-Dapicurio.rest.deletion.artifact-version.enabled=true",
            ],
            main=[_MAIN_CLASS],
        )

    def answers(self) -> bool:
        try:
            self._ask("GET", "/subjects")
        except (OSError, ValueError):
            return False
        return True

    def register(self, subject: str, schema: str, kind: str = "AVRO", references: Any = ()) -> int:
        """The id of the schema, which becomes the subject's newest version."""
        content = {"schema": schema, "schemaType": kind, "references": list(references)}
        path = f"/subjects/{quote(subject, safe='')}/versions"
        return int(self._ask("POST", path, content)["id"])

    def delete(self, subject: str) -> None:
        """It and its versions. What their ids mean is still known."""
        self._ask("DELETE", f"/subjects/{quote(subject, safe='')}")

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            None if content is None else json.dumps(content).encode(),
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as response:
            return json.loads(response.read())
