"""Fetches a release from a Maven repository: its jar, and with it those of the same organisation.

Dependencies of other organisations are not fetched: Spark brings them, and a second version next to
them would hide Spark's.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen
from xml.etree import ElementTree as ET

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import REPOSITORY_VARIABLE, Release, Say, kept
from pyspark_zkgroup.jars.record import Record

CENTRAL = "https://repo1.maven.org/maven2/"
TIMEOUT_S = 60.0
SCHEMES = ("https", "file")
POM = "{http://maven.apache.org/POM/4.0.0}"


def release_jars(
    release: Release,
    record: Record,
    say: Say,
    environment: Mapping[str, str] | None = None,
    *,
    dependencies: bool = False,
) -> list[Path]:
    """Return the release's jar, and with `dependencies` those of its organisation that it needs."""
    environment = os.environ if environment is None else environment
    root = repository(environment)

    def fetch(work: Path) -> str:
        lib = work / "lib"
        lib.mkdir(exist_ok=True)
        try:
            _download(release, root, lib, dependencies)
        except (OSError, HTTPException, ET.ParseError) as error:
            return " ".join(str(error).split()) or type(error).__name__
        return ""

    return sorted(kept(release, record, fetch, say, environment).glob("*.jar"))


def repository(environment: Mapping[str, str]) -> str:
    """Return the address of the repository, with a slash at its end."""
    given = environment.get(REPOSITORY_VARIABLE, "")
    if given and urlsplit(given).scheme not in SCHEMES:
        raise SandboxError.of("bad_repository", variable=REPOSITORY_VARIABLE, value=given)
    return (given or CENTRAL).rstrip("/") + "/"


def _download(release: Release, root: str, lib: Path, dependencies: bool) -> None:
    wanted, seen = [(release.module, release.version)], {release.module}
    while wanted:
        module, version = wanted.pop()
        place = f"{release.organisation.replace('.', '/')}/{module}/{version}/{module}-{version}"
        jar = lib / f"{module}-{version}.jar"
        fetch_jar(f"{root}{place}.jar", jar)
        if dependencies:
            with opened(f"{root}{place}.pom") as answer:
                found = set(needed(answer.read(), release.organisation))
            wanted += sorted((m, v) for m, v in found if m not in seen)
            seen |= {m for m, _ in found}


def fetch_jar(address: str, jar: Path) -> None:
    """It appears complete or not at all. OSError or HTTPException with the reason."""
    part = jar.with_suffix(".part")
    with opened(address) as answer, part.open("wb") as file:
        shutil.copyfileobj(answer, file)
    if not zipfile.is_zipfile(part):
        raise OSError(f"{jar.name} is not a jar (does a proxy answer with its own page?)")
    part.rename(jar)


def needed(pom: bytes, organisation: str) -> Iterator[tuple[str, str]]:
    """The modules of that organisation, each with its version, that are needed to run."""
    for one in ET.fromstring(pom).findall(f"{POM}dependencies/{POM}dependency"):
        told = {child.tag.removeprefix(POM): (child.text or "").strip() for child in one}
        runs = told.get("scope", "compile") in ("compile", "runtime")
        if told.get("groupId") == organisation and runs and told.get("optional") != "true":
            yield told["artifactId"], told.get("version", "")


@contextmanager
def opened(address: str) -> Iterator[IO[bytes]]:
    """The answer, over TLS all the way. OSError with the reason."""
    try:
        with urlopen(address, timeout=TIMEOUT_S) as answer:
            # urllib follows a redirection to http: as well.
            if urlsplit(answer.geturl()).scheme not in SCHEMES:
                raise OSError(f"{address} leads to {answer.geturl()}, which is not over TLS")
            yield answer
    except HTTPError as error:
        raise OSError(f"{address}: {error.code} {error.reason}") from error
