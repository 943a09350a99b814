"""Jars of Kafka, with all that they need: fetched once per user, several at a time, and kept.

`jar_places.json` has the path of each jar in a Maven repository, as Ivy resolves the release
(`-types jar bundle`, retrieved as [organisation]/[module]/[revision]), and `jar_hashes.json` what
its content must be.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from http.client import HTTPException
from pathlib import Path

from pyspark_zkgroup.jars.cache import Release, Say, kept
from pyspark_zkgroup.jars.maven import fetch_jar, repository
from pyspark_zkgroup.jars.record import Record

KAFKA_VERSIONS = {"3.9": "3.9.1", "4.1": "4.1.1", "4.4": "4.4.0"}
PROGRESS_S = 5.0
AT_ONCE = 8
RECORD = Record(Path(__file__).with_name("jar_hashes.json"))
PLACES = Path(__file__).with_name("jar_places.json")


def kafka_jars(line: str, say: Say, environment: Mapping[str, str] | None = None) -> Path:
    """The directory with that line's jars, fetched when this user's cache lacks them."""
    return all_jars(Release(KAFKA_VERSIONS[line]), say, environment)


def all_jars(release: Release, say: Say, environment: Mapping[str, str] | None = None) -> Path:
    """The same for any release that has places: the tests run consumers of old ones."""
    root = repository(os.environ if environment is None else environment)
    places = json.loads(PLACES.read_text(encoding="utf-8"))[release.name]

    def fetch(work: Path) -> str:
        lib = work / "lib"
        lib.mkdir(exist_ok=True)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            fetching = [pool.submit(_fetch, root + place, lib) for place in places]
            try:
                _follow(fetching, say)
            except (OSError, HTTPException) as error:
                return " ".join(str(error).split()) or type(error).__name__
            finally:
                pool.shutdown(cancel_futures=True)
        return ""

    return kept(release, RECORD, fetch, say, environment)


def _fetch(address: str, lib: Path) -> None:
    jar = lib / address.rpartition("/")[2]
    if not jar.exists():  # an attempt before may have fetched it
        fetch_jar(address, jar)


def _follow(fetching: list[Future[None]], say: Say) -> None:
    """Report how many are there, every few seconds. The first failure is raised."""
    said_at = time.monotonic()
    for number, one in enumerate(as_completed(fetching), 1):
        one.result()
        if time.monotonic() - said_at > PROGRESS_S:
            said_at = time.monotonic()
            say(f"{number} of {len(fetching)} jars fetched")
