"""Which versions of subjects a checkpoint's columns come from: a small file within it.

Without it, a restart after a new version would give a query other columns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.registry.access import RegisteredSchema, Version

FILE = "zkgroup-columns.json"
_FORMAT = 1


def read(checkpoint: Path) -> Mapping[str, Version]:
    """By subject; empty for a new checkpoint."""
    path = checkpoint / FILE
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']}, not {_FORMAT}")
        return {name: _version(name, one) for name, one in found["subjects"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError.of("bad_pins", file=path, error=error) from None


def write(checkpoint: Path, versions: Iterable[Version]) -> None:
    """Whole or not at all. What is pinned already stays."""
    pinned = dict(read(checkpoint))
    missing = {one.subject: one for one in versions if one.subject not in pinned}
    if not missing:
        return
    subjects = {name: _plain(one) for name, one in {**pinned, **missing}.items()}
    checkpoint.mkdir(parents=True, exist_ok=True)
    part = checkpoint / f".{FILE}.{os.getpid()}.tmp"
    part.write_text(json.dumps({"format": _FORMAT, "subjects": subjects}, indent=1), "utf-8")
    part.replace(checkpoint / FILE)


def _version(subject: str, found: Mapping[str, object]) -> Version:
    text, references, number = found["schema"], found["references"], found["version"]
    kind = str(found.get("type", "AVRO"))
    if not isinstance(text, str) or not isinstance(references, list) or type(number) is not int:
        raise ValueError(f"what it has of {subject!r} is not a schema")
    return Version(subject, number, RegisteredSchema(text, tuple(map(str, references)), kind))


def _plain(version: Version) -> dict[str, object]:
    schema = version.schema
    return {
        "version": version.number,
        "type": schema.kind,
        "schema": schema.text,
        "references": list(schema.references),
    }
