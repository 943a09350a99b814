"""Finds Spark's own evidence that a batch is finished: `commits/N` in the query's checkpoint.

N is the batch whose offsets have our end.
"""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from pyspark_zkgroup import catalogue

# A SIGTERM to the whole process group may arrive just before the JVM logs the batch.
_WAIT_S = 1.0
_LOOK_AGAIN_S = 0.05
_log = logging.getLogger("pyspark_zkgroup.planner")


def local_directory(location: str) -> Path | None:
    """Return the directory of a checkpointLocation if this process can read it itself."""
    url = urlparse(location)
    if url.scheme == "file":
        return Path(unquote(url.path))
    if url.scheme == "dbfs":
        return Path("/dbfs" + unquote(url.path))
    return Path(location) if url.scheme == "" else None


def batch_is_committed(location: str, end: dict[str, Any]) -> bool:
    """Return whether Spark has logged the batch that ends at `end`.

    Waits a moment for the log while Spark is alive.
    """
    directory = local_directory(location)
    if directory is None:
        return False
    parent = os.getppid()
    give_up_at = time.monotonic() + _WAIT_S
    while True:
        batch = _batch_ending_at(directory, end)
        if batch is None:
            _log.warning(catalogue.warning("ZKG-137", directory=directory))
            return False
        if (directory / "commits" / str(batch)).exists():
            return True
        if time.monotonic() > give_up_at or os.getppid() != parent:
            return False
        time.sleep(_LOOK_AGAIN_S)


def _batch_ending_at(directory: Path, end: dict[str, Any]) -> int | None:
    """Return the newest batch whose offset log has exactly this end.

    Any line may have it: a query can have several sources.
    """
    try:
        batches = sorted(
            (int(p.name) for p in (directory / "offsets").iterdir() if p.name.isdecimal()),
            reverse=True,
        )
        for batch in batches[:2]:
            lines = (directory / "offsets" / str(batch)).read_text("utf-8").splitlines()
            if any(_is_offset(line, end) for line in lines):
                return batch
    except OSError as error:
        _log.warning(catalogue.warning("ZKG-138", directory=directory, error=error))
    return None


def _is_offset(line: str, end: dict[str, Any]) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return bool(json.loads(line) == end)
    except ValueError:
        return False
