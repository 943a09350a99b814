"""Jars of Kafka, with all that they need: fetched once per user by pyspark's Ivy, and kept.

Ivy gets settings of ours. Its own would also look into the local Maven repository, and one that
holds a pom without its jar makes the whole download fail.
"""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from pyspark_zkgroup.jars.cache import Release, Say, kept
from pyspark_zkgroup.jars.maven import repository
from pyspark_zkgroup.jars.record import Record
from zkgroup_sandbox.pyspark_jars import ivy_jars

KAFKA_VERSIONS = {"3.9": "3.9.1", "4.1": "4.1.1", "4.4": "4.4.0"}
PROGRESS_S = 5.0
RECORD = Record(Path(__file__).with_name("jar_hashes.json"))

SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <caches defaultCacheDir={cache}/>
  <timeout-constraints>
    <timeout-constraint name="patience" connectionTimeout="15000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="maven" m2compatible="true" timeoutConstraint="patience" root={root}/>
  </resolvers>
</ivysettings>
"""


def kafka_jars(
    line: str, java: Path, say: Say, environment: Mapping[str, str] | None = None
) -> Path:
    """The directory with that line's jars, fetched when this user's cache lacks them."""
    return all_jars(Release(KAFKA_VERSIONS[line]), java, say, environment)


def all_jars(
    release: Release, java: Path, say: Say, environment: Mapping[str, str] | None = None
) -> Path:
    """The same for any release: the tests run consumers of old ones."""
    environment = os.environ if environment is None else environment
    root = repository(environment)

    def fetch(work: Path) -> str:
        settings = ivy_settings(work / "ivy", root)
        (work / "ivysettings.xml").write_text(settings, encoding="utf-8")
        return _run_ivy(release, work, java, say, environment)

    return kept(release, RECORD, fetch, say, environment)


def _run_ivy(
    release: Release, work: Path, java: Path, say: Say, environment: Mapping[str, str]
) -> str:
    """Empty when all jars are there, else what went wrong, in one line."""
    command = [
        str(java),
        *_proxy_flags(environment),
        f"-Divy.default.ivy.user.dir={work / 'ivy'}",
        "-cp",
        os.pathsep.join(map(str, ivy_jars())),
        "org.apache.ivy.Main",
        *("-settings", str(work / "ivysettings.xml")),
        *("-dependency", release.organisation, release.module, release.version),
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
        # Ivy says first that it found nothing, and only further down that it reached no server.
        causes = [p for p in problems if "access error" in p or p.startswith("Host ")]
        told = (causes + problems + ["it gave no reason"])[0]
        return f"Ivy ended with status {status}: {told}"
    broken = [p.name for p in sorted(lib.glob("*.jar")) if not zipfile.is_zipfile(p)]
    if broken:
        return f"{broken[0]} is not a jar (does a proxy answer with its own page?)"
    if not (lib / f"{release.name}.jar").exists():
        return f"{release.name}.jar did not arrive"
    return ""


def ivy_settings(cache: Path, root: str) -> str:
    return SETTINGS.format(cache=quoteattr(str(cache)), root=quoteattr(root))


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
