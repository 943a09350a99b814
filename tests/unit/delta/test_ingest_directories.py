"""In which directories `delta.ingest` takes a table: delta-rs misreads some names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.takeover import prepare
from pyspark_zkgroup.errors import DeltaError
from tests.unit.delta.ingest_scene import no_brokers, offsets, prepared, taken, target, written


@pytest.mark.parametrize(
    ("name", "part"), [("a%20b", "%20"), ("a\\b", "\\"), ("a%2Fb", "%2F"), ("a\nb", "\n")]
)
def test_a_directory_whose_log_delta_rs_would_not_find_is_refused(
    tmp_path: Path, name: str, part: str
) -> None:
    into = target(tmp_path / name)
    with pytest.raises(DeltaError, match=re.escape(f"has {part!r} in its name")):
        prepare(into)
    assert not Path(into.directory).exists()


def test_the_table_of_another_directory_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """delta-rs lists the log of one, and reads that of the other."""
    prepared(tmp_path / "a b")
    into = target(tmp_path / "a%20b")
    log = Path(into.directory) / "_delta_log"
    shutil.copytree(tmp_path / "a b" / "table" / "_delta_log", log)
    with pytest.raises(DeltaError, match="has '%20' in its name"):
        Commits(into).commit(*written(into, {0: range(2)}), no_brokers)


@pytest.mark.parametrize("name", ["a b", "a%b", "100%", "ü", "a#b?c=d", "[a]*:+~"])
def test_directories_may_have_other_odd_names(tmp_path: Path, name: str) -> None:
    into = prepared(tmp_path / name)
    taken(Commits(into), into, {0: range(2)})
    assert offsets(into) == {0: [0, 1]}
