"""What a query knows of its table between two commits."""

from __future__ import annotations

from pathlib import Path

from pyspark_zkgroup.delta.direct.position import Position
from pyspark_zkgroup.delta.direct.rules import Log
from tests.harness.waiting import wait_until
from tests.unit.delta.ingest_scene import ID, TOPIC, prepared

LOG = Log(TOPIC, 0, ID)


def position_in(directory: str) -> Position:
    return Position(directory, None, lambda _: None)


def test_the_version_of_a_commit_is_read_before_the_next_look(tmp_path: Path) -> None:
    position = position_in(prepared(tmp_path).directory)
    table, _ = position.look([LOG])
    before = table.version()
    position.commit([], {LOG: 5}, {}, is_alone=False)
    wait_until(lambda: table.version() == before + 1, 10.0, "the version of the commit")
    assert position.look([LOG])[1].watermarks == {LOG: 5}


def test_a_rival_whose_commit_is_read_with_ones_own_is_seen(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    position, rival = position_in(into.directory), position_in(into.directory)
    for one in (position, rival):
        one.look([LOG])
    position.commit([], {LOG: 5}, {}, is_alone=False)
    rival.look([LOG])
    rival.commit([], {LOG: 9}, {}, is_alone=False)
    assert position.look([LOG])[1].watermarks == {LOG: 9}
