"""Columns from the newest schema of a subject, which a checkpoint keeps once it has begun.

The registry's rooms are imported where an option asks for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import OptionError, ZkgroupError
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.planning.evidence import local_directory
from pyspark_zkgroup.registry.access import RegistryAccess, Version

LOAD_S = 30.0
"""How long load() waits for the registry."""
LOOK_S = 5.0

_log = logging.getLogger("pyspark_zkgroup.source")


def chosen_versions(options: Options) -> Mapping[str, Version]:
    """By column: the pinned version, or the newest one where nothing is pinned."""
    wanted = [one for one in options.columns.described if one.schema is None]
    if not wanted:
        return {}
    from pyspark_zkgroup.registry import pins

    directory = _directory(options)
    pinned = pins.read(directory) if directory is not None else {}
    found: dict[str, Version] = {}
    for one in wanted:
        subject = one.subject_of(_topics(options))
        assert one.registry is not None
        found[one.column] = pinned.get(subject) or _newest(one.registry, subject, one.column)
    return found


def with_versions(options: Options, versions: Mapping[str, Version]) -> Options:
    schemas = {column: version.schema for column, version in versions.items()}
    return replace(options, columns=options.columns.with_schemas(schemas))


def check_can_pin(options: Options, versions: Mapping[str, Version]) -> None:
    if versions and _directory(options) is None:
        raise OptionError.of(
            "pin_needs_checkpoint",
            subjects=" and ".join(one.subject for one in versions.values()),
        )


def pin(options: Options, versions: Iterable[Version]) -> None:
    """When a query starts. Also says which of its columns have a newer schema by now."""
    directory = _directory(options)
    access = next((one.registry for one in options.columns.described if one.registry), None)
    if directory is None or access is None:
        return
    from pyspark_zkgroup.registry import pins

    pins.write(directory, versions)
    for one in versions:
        _tell_newer(access, one, directory / pins.FILE)


def _tell_newer(access: RegistryAccess, pinned: Version, file: Path) -> None:
    from pyspark_zkgroup.registry.http import NotFoundError
    from pyspark_zkgroup.registry.schemas import newest

    try:
        found = newest(access, pinned.subject, LOOK_S)
    except NotFoundError:
        return
    except ZkgroupError as error:
        _log.info("Cannot look for a newer version of %s: %s", pinned.subject, error)
        return
    if found.number > pinned.number:
        _log.warning(
            catalogue.warning(
                "ZKG-199",
                subject=pinned.subject,
                newest=found.number,
                pinned=pinned.number,
                file=file,
            )
        )


def _newest(access: RegistryAccess, subject: str, column: str) -> Version:
    from pyspark_zkgroup.registry.http import NotFoundError
    from pyspark_zkgroup.registry.schemas import newest

    try:
        return newest(access, subject, LOAD_S)
    except NotFoundError:
        raise OptionError.of("no_subject", subject=subject, column=column) from None


def _topics(options: Options) -> tuple[str, ...]:
    """None where a pattern names them."""
    found = options.topics.subscription
    return tuple(name for name, _ in found.entries) if found.pattern == "static" else ()


def _directory(options: Options) -> Path | None:
    location = options.group.checkpoint_location
    return None if location is None else local_directory(location)
