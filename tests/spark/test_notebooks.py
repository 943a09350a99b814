"""The notebooks run from top to bottom as they are in the repository."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
INLINE = "module://matplotlib_inline.backend_inline"
PICTURES = {
    "quick_start": 0,
    "two_members": 1,
    "exactly_once": 1,
    "watching_lag": 2,
    "moving_here": 1,
    "typed_columns": 0,
}
# Paths of one machine, which readers do not have.
OWN_PATHS = re.compile(r"/(tmp|home|root|work|Users)/")


def notebook(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]


def outputs(found: Any) -> list[Any]:
    return [output for cell in found.cells for output in cell.get("outputs", [])]


def lines(found: Any) -> list[str]:
    texts = (output["text"] for output in outputs(found) if output.get("name") == "stdout")
    return [line for text in texts for line in text.splitlines()]


@pytest.fixture
def run(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("ZKGROUP_SANDBOX", str(sandbox.directory))
    monkeypatch.setenv("MPLBACKEND", INLINE)

    def execute(name: str) -> list[str]:
        """What it has printed. Its pictures are kept where pytest keeps temporary files."""
        found = notebook(name)
        NotebookClient(found, timeout=600, kernel_name="python3").execute()
        pictures = [
            o["data"]["image/png"] for o in outputs(found) if "image/png" in o.get("data", {})
        ]
        for number, picture in enumerate(pictures):
            (tmp_path / f"{name}-{number}.png").write_bytes(base64.b64decode(picture))
        assert len(pictures) == PICTURES[name]
        return lines(found)

    return execute


def counted(line: str) -> list[int]:
    """`produced 1, read 2, different 3`"""
    return [int(part.split()[-1]) for part in line.split(": ")[-1].split(", ")]


@pytest.mark.parametrize("name", PICTURES)
def test_they_are_kept_with_the_outputs_of_a_run_and_begin_alike(name: str) -> None:
    found = notebook(name)
    code = [cell for cell in found.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), (
        f"run: python -m tests.documents.notebooks {name}"
    )
    kinds = {output.get("name", output["output_type"]) for output in outputs(found)}
    assert kinds <= {"stdout", "execute_result", "display_data"}
    assert sum("image/png" in o.get("data", {}) for o in outputs(found)) == PICTURES[name]
    texts = [o.get("text") or o["data"]["text/plain"] for o in outputs(found)]
    assert [text for text in texts if OWN_PATHS.search(text)] == []
    first = next(cell for cell in found.cells if cell.cell_type == "code")
    assert first.source == next(
        cell.source for cell in notebook("quick_start").cells if cell.cell_type == "code"
    )
    assert f"notebooks/{name}.ipynb" in found.cells[0].source


def test_every_notebook_is_among_them() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(PICTURES)


def test_the_quick_start_reads_each_event_once(run: Any) -> None:
    (line,) = (line for line in run("quick_start") if line.startswith("produced "))
    produced, read, different = counted(line)
    assert produced == read == different


@pytest.mark.long
def test_two_members_share_and_hand_over(run: Any) -> None:
    (line,) = (line for line in run("two_members") if line.startswith("produced "))
    produced, read, different = counted(line)
    assert produced == read == different


@pytest.mark.long
def test_a_crash_between_the_two_commits(run: Any) -> None:
    printed = run("exactly_once")
    (before,) = (counted(line) for line in printed if line.startswith("in the table "))
    (plain,) = (counted(line) for line in printed if line.startswith("plain: "))
    (once,) = (counted(line) for line in printed if line.startswith("once: "))
    repeated = before[2]
    # Without a crash in the middle it would show nothing.
    assert repeated > 0
    assert plain == [6_000, 6_000 + repeated, 6_000]
    assert once == [6_000, 6_000, 6_000]


@pytest.mark.long
def test_lag_is_seen_to_rise_and_to_fall(run: Any) -> None:
    printed = run("watching_lag")
    (line,) = (line for line in printed if line.startswith("lag at most "))
    most, last = counted(line)
    assert most > 1_000
    assert last < most
    assert any(line.startswith("zkgroup_lag") for line in printed)


@pytest.mark.long
def test_columns_of_json_and_of_a_registry(run: Any) -> None:
    printed = run("typed_columns")
    assert "produced 2000, read 2000, different 2000" in printed
    assert "events: produced 6000, read 6000, different 6000, bad 10" in printed


@pytest.mark.long
def test_a_migrated_query_continues_at_the_next_record(run: Any) -> None:
    printed = run("moving_here")
    assert "before 2000, after 500" in printed
    assert "produced 2500, read 2500, different 2500" in printed
    assert "produced 2000, left at 1120, read 880" in printed
    assert "first offset read of each partition: {2: 120, 3: 0}" in printed
