"""Secrets that an option names instead of holding them: what Spark shows of options has none then.

`${env:NAME}` and `${directory:/path:file}`, as Kafka's own config providers write them. Both are
looked up on the driver, when a query is loaded.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_PLACE = re.compile(r"\$\{(env|directory):([^{}]*)\}")


def filled(text: str) -> str:
    """ValueError with a reason where something is not there."""
    return _PLACE.sub(lambda found: _value(found[1], found[2]), text)


def _value(kind: str, named: str) -> str:
    if kind == "env":
        if named not in os.environ:
            raise ValueError(f"names the environment variable {named!r}, which the driver has not")
        return os.environ[named]
    directory, colon, file = named.rpartition(":")
    if not colon:
        raise ValueError("has a ${directory:...} without a path, a colon and a file")
    try:
        return (Path(directory) / file).read_text(encoding="utf-8").removesuffix("\n")
    except OSError as error:
        raise ValueError(
            f"names {directory}/{file}, which cannot be read: {error.strerror}"
        ) from None
