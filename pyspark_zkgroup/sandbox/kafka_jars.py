"""Jars of Kafka, Delta and Spark's Kafka source: fetched once per user by pyspark's Ivy, and kept.

Ivy gets settings of ours. Its own would also look into the local Maven repository, and one that
holds a pom without its jar makes the whole download fail. A directory of the cache appears by a
rename, complete or not at all; a lock lets concurrent starts fetch once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.sandbox import jar_hashes
from pyspark_zkgroup.sandbox.jar_hashes import MANIFEST
from pyspark_zkgroup.sandbox.pyspark_jars import ivy_jars
from pyspark_zkgroup.sandbox.state import lock

KAFKA_VERSIONS = {"3.9": "3.9.1", "4.1": "4.1.1"}
SCALA_VERSION = "2.13"
REPOSITORY_VARIABLE = "ZKGROUP_MAVEN_REPOSITORY"
ATTEMPTS_MAX = 3
DOWNLOAD_DEADLINE_S = 900.0
PROGRESS_S = 5.0

SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <caches defaultCacheDir={cache}/>
  <timeout-constraints>
    <timeout-constraint name="patience" connectionTimeout="15000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="maven" m2compatible="true" timeoutConstraint="patience"{root}/>
  </resolvers>
</ivysettings>
"""

Say = Callable[[str], None]


# What Spark brings itself must not come a second time, in another version, beside it.
OWN_JARS_ONLY = """<ivy-module version="2.0">
  <info organisation="zkgroup" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org={organisation} name={module} rev={version} conf="default->default">
      <exclude org={others} matcher="regexp"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
# Nothing of what a jar asks for: whoever wants it so names all the jars that are needed.
ONE_JAR = """<ivy-module version="2.0">
  <info organisation="zkgroup" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org={organisation} name={module} rev={version} conf="default->default"
      transitive="false"/>
  </dependencies>
</ivy-module>
"""


@dataclass(frozen=True)
class Release:
    """One release, of Kafka unless said otherwise, as the Maven repository names it."""

    version: str
    scala: str = SCALA_VERSION
    """Empty for what is not written in Scala."""
    product: str = "Kafka"
    organisation: str = "org.apache.kafka"
    artifact: str = "kafka"
    wants: Literal["all", "own jars", "one jar"] = "all"
    """`own jars` leaves out those of other organisations."""

    @property
    def module(self) -> str:
        return f"{self.artifact}_{self.scala}" if self.scala else self.artifact

    @property
    def name(self) -> str:
        return f"{self.module}-{self.version}"


def kafka_jars(
    line: str, java: Path, say: Say, environment: Mapping[str, str] | None = None
) -> Path:
    """The directory with that line's jars, fetched when this user's cache lacks them."""
    return release_jars(Release(KAFKA_VERSIONS[line]), java, say, environment)


def release_jars(
    release: Release, java: Path, say: Say, environment: Mapping[str, str] | None = None
) -> Path:
    """The same for any release: the tests run consumers of old ones."""
    environment = os.environ if environment is None else environment
    cache = cache_directory(environment) / "jars"
    directory = cache / release.name
    if not _complete(directory):
        _make_directory(cache)
        with lock(
            cache / f"{release.name}.lock",
            deadline_s=DOWNLOAD_DEADLINE_S,
            busy=lambda: say(f"another process is fetching {release.name}; waiting for it"),
        ):
            if not _complete(directory):
                _fetch(release, directory, java, say, environment)
    return directory


def cache_directory(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules call a relative path invalid and tell to ignore it.
    if base and Path(base).is_absolute():
        return Path(base) / "zkgroup"
    return Path(environment.get("HOME") or Path.home()) / ".cache" / "zkgroup"


def _complete(directory: Path) -> bool:
    """Whether the cache has all jars as they were fetched, and as they are on record."""
    try:
        expected = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        found = jar_hashes.of_jars(directory)
    except (OSError, ValueError):
        return False
    return bool(found) and found == expected and not jar_hashes.difference(directory.name, found)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(
            f"the cache directory {path} cannot be made: {error.strerror}",
            "Let XDG_CACHE_HOME name a directory that can be written",
        ) from error


def _fetch(
    release: Release, directory: Path, java: Path, say: Say, environment: Mapping[str, str]
) -> None:
    title = f"{release.product} {release.version}"
    say(f"fetching the jars of {title} (once per user) into {directory}")
    prefix = f".fetching-{release.name}-"
    for left in directory.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)  # by a fetch that was killed: we hold the lock
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=prefix) as work_name:
        work = Path(work_name)
        last_lines = ""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            # The Ivy cache outlives a failed attempt: the next one fetches only what is missing.
            last_lines = _run_ivy(release, work, java, say, environment)
            if not last_lines:
                break
            if attempt < ATTEMPTS_MAX:
                say(f"attempt {attempt} of {ATTEMPTS_MAX} failed ({last_lines}); trying again")
        if last_lines:
            raise SandboxError(
                f"{title} could not be fetched from the Maven repository: {last_lines}",
                f"Check the network and proxy, or name a mirror in {REPOSITORY_VARIABLE}",
            )
        _publish(work / "lib", directory, say)
    say(f"{title} is in {directory}")


def _run_ivy(
    release: Release, work: Path, java: Path, say: Say, environment: Mapping[str, str]
) -> str:
    """Empty when all jars are there, else what went wrong, in one line."""
    settings = work / "ivysettings.xml"
    settings.write_text(_settings(work / "ivy", environment), encoding="utf-8")
    command = [
        str(java),
        *_proxy_flags(environment),
        f"-Divy.default.ivy.user.dir={work / 'ivy'}",
        "-cp",
        os.pathsep.join(map(str, ivy_jars())),
        "org.apache.ivy.Main",
        *("-settings", str(settings)),
        *_wanted(release, work),
        *("-confs", "default"),
        *("-types", "jar", "bundle"),
        *("-retrieve", str(work / "lib" / "[artifact]-[revision].[ext]")),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        try:
            problems = _follow(ivy, say)
        except BaseException:
            ivy.kill()
            raise
    return _verdict(work / "lib", release, ivy.returncode, problems)


def _wanted(release: Release, work: Path) -> list[str]:
    if release.wants == "all":
        return ["-dependency", release.organisation, release.module, release.version]
    wanted = (ONE_JAR if release.wants == "one jar" else OWN_JARS_ONLY).format(
        organisation=quoteattr(release.organisation),
        module=quoteattr(release.module),
        version=quoteattr(release.version),
        others=quoteattr(f"(?!{re.escape(release.organisation)}$).*"),
    )
    (work / "ivy.xml").write_text(wanted, encoding="utf-8")
    return ["-ivy", str(work / "ivy.xml")]


def _follow(ivy: subprocess.Popen[str], say: Say) -> list[str]:
    """Says how far Ivy has come, every few seconds; gives back what it complains about."""
    problems: list[str] = []
    found = fetched = 0
    said_at = time.monotonic()
    for text in ivy.stdout or ():
        found += text.lstrip().startswith("found ")
        fetched += "[SUCCESSFUL ]" in text
        if time.monotonic() - said_at > PROGRESS_S:
            said_at = time.monotonic()
            say(f"{fetched} of {found} jars fetched" if fetched else f"{found} jars found so far")
        if _tells_a_problem(text):
            problems.append(" ".join(text.split()))
    return problems


def _tells_a_problem(text: str) -> bool:
    return any(mark in text for mark in ("UNRESOLVED", "ERROR", "FAILED", "Exception", "not found"))


def _verdict(lib: Path, release: Release, status: int, problems: list[str]) -> str:
    if status != 0 or problems:
        # Ivy says first that it found nothing, and only further down that it reached nobody.
        causes = [p for p in problems if "access error" in p or p.startswith("Host ")]
        told = (causes + problems + ["it gave no reason"])[0]
        return f"Ivy ended with status {status}: {told}"
    broken = [p.name for p in sorted(lib.glob("*.jar")) if not zipfile.is_zipfile(p)]
    if broken:
        return f"{broken[0]} is not a jar (does a proxy answer with a page of its own?)"
    if not (lib / f"{release.name}.jar").exists():
        return f"{release.name}.jar did not arrive"
    return ""


def _settings(ivy_cache: Path, environment: Mapping[str, str]) -> str:
    repository = environment.get(REPOSITORY_VARIABLE, "")
    if repository and not repository.startswith(("https:", "file:")):
        raise SandboxError(
            f"{REPOSITORY_VARIABLE} is {repository!r}, but must be an https: or file: address",
            "Jars are programs: fetch them over TLS",
        )
    root = f" root={quoteattr(repository)}" if repository else ""
    return SETTINGS.format(cache=quoteattr(str(ivy_cache)), root=root)


def _proxy_flags(environment: Mapping[str, str]) -> list[str]:
    """pip follows HTTPS_PROXY, Java does not: a machine where pip works must be enough."""
    flags: list[str] = []
    for scheme in ("http", "https"):
        value = environment.get(f"{scheme}_proxy") or environment.get(f"{scheme}_proxy".upper())
        proxy = urlsplit(value if "//" in value else f"//{value}") if value else None
        if proxy is not None and proxy.hostname:
            flags.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            flags.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    direct = environment.get("no_proxy") or environment.get("NO_PROXY")
    if flags and direct:
        hosts = [h.strip() for h in direct.split(",") if h.strip()]
        patterns = [f"*{h}" if h.startswith(".") else h for h in hosts]
        flags.append("-Dhttp.nonProxyHosts=" + "|".join(patterns))
    return flags


def _publish(lib: Path, directory: Path, say: Say) -> None:
    found = jar_hashes.of_jars(lib)
    if problem := jar_hashes.difference(directory.name, found):
        raise SandboxError(
            f"A jar of {directory.name} is not the one that this package knows: {problem}",
            f"Fetch it from another repository, see {REPOSITORY_VARIABLE}. If a release was "
            "published again, update pyspark-zkgroup",
        )
    if not jar_hashes.is_recorded(directory.name):
        say(f"no SHA-256 of {directory.name} is on record: what came first is kept")
    (lib / MANIFEST).write_text(json.dumps(found, indent=1), encoding="utf-8")
    if directory.exists():
        shutil.rmtree(directory)  # incomplete, or we would not be here
    lib.rename(directory)
