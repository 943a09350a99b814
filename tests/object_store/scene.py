"""A table in the store, with the records and tasks of the tests of tables on disks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark_zkgroup.delta.direct.takeover import prepare_stored
from pyspark_zkgroup.delta.direct.target import Target
from tests.object_store.store import Store
from tests.unit.delta.ingest_scene import target


def stored(store: Store, place: str | None = None, **changed: str) -> Target:
    return replace(
        target(Path("unused")),
        directory=place or store.new_place(),
        storage=store.storage(**changed),
    )


def prepared(store: Store) -> Target:
    made = stored(store)
    prepare_stored(made)
    return made
