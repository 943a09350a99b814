"""What `make test-matrix` makes of pytest's results, and which versions it is of."""

from __future__ import annotations

import configparser
import re

import pytest
from packaging.requirements import Requirement

from tests.matrix import environments, run
from tests.matrix.run import Cell, cells_of
from tests.matrix.versions import VERSIONS

RESULTS = """<testsuites><testsuite>
<testcase name="test_a_restart[3.9]" time="4.2"/>
<testcase name="test_a_restart[4.1]" time="5"><failure message="assert 1 == 2&#10;more"/></testcase>
<testcase name="test_delta[4.1]" time="0"><skipped message="no Delta for this Spark"/></testcase>
<testcase name="test_filters[3.9]" time="1"><error message="failed on setup"/></testcase>
</testsuite></testsuites>"""
CELLS = [
    Cell("a restart", "3.9", "passed", 4.2),
    Cell("a restart", "4.1", "failed", 5.0, "assert 1 == 2"),
    Cell("delta", "4.1", "skipped", 0.0, "no Delta for this Spark"),
    Cell("filters", "3.9", "error", 1.0, "failed on setup"),
]


def test_results_become_cells() -> None:
    assert cells_of(RESULTS) == CELLS


def test_the_table_shows_each_case_on_each_version_and_what_was_not_run() -> None:
    shown = run._table({"4.0.5": CELLS, "4.1.4": CELLS[:1]}).splitlines()
    assert re.fullmatch(r" +4\.0\.5 +4\.1\.4", shown[0])
    assert shown[1].split() == ["a", "restart", "3.9", "passed", "4s", "passed", "4s"]
    assert shown[2].split() == ["a", "restart", "4.1", "failed", "5s", "-"]
    assert len(shown) == 5


@pytest.mark.parametrize(("cells", "status"), [(CELLS[:1], 0), (CELLS[2:3], 0), (CELLS[1:2], 1)])
def test_it_fails_with_a_case_and_not_with_one_left_out(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cells: list[Cell],
    status: int,
) -> None:
    monkeypatch.setattr(run, "_run", lambda *_: cells)
    monkeypatch.setattr(run, "_write", lambda _: None)
    monkeypatch.setattr("sys.argv", ["matrix", "--spark", "4.3"])
    assert run.main() == status
    said = capsys.readouterr().out
    assert all(cell.reason in said for cell in cells)
    assert "without Delta, no release of Delta is built for Spark 4.3" in said


def test_setup_cfg_allows_all_these_versions_and_no_other_line() -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(environments.ROOT / "setup.cfg")
    lines = config["options.extras_require"]["spark"].split("\n")
    (spark,) = [Requirement(line) for line in lines if line.startswith("pyspark")]
    assert all(version.pyspark in spark.specifier for version in VERSIONS)
    assert [version.line for version in VERSIONS] == ["4.0", "4.1", "4.2", "4.3"]
    assert all(version.pyspark.startswith(f"{version.line}.") for version in VERSIONS)
    assert "3.5.9" not in spark.specifier
    assert "4.4.0" not in spark.specifier


def test_an_environment_is_of_the_pins_of_this_project_but_for_spark_and_delta() -> None:
    constraints = environments._constraints()
    assert "kazoo==" in constraints
    assert not re.search(r"^(pyspark|delta-spark|py4j)==", constraints, re.MULTILINE)
    packages = environments._packages(VERSIONS[0])
    assert packages[-1] == f"pyspark[connect]=={VERSIONS[0].pyspark}"
    assert [name for name in packages if name.startswith("pyspark")] == packages[-1:]
