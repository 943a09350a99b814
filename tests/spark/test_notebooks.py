"""The notebooks run from top to bottom as they are in the repository."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from pyspark_zkgroup.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def test_the_quick_start_reads_each_event_once(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZKGROUP_SANDBOX", str(sandbox.directory))
    notebook = nbformat.read(  # type: ignore[no-untyped-call]
        NOTEBOOKS / "quick_start.ipynb", as_version=4
    )
    assert all(not cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = [
        output["text"].split()
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stdout" and output["text"].startswith("produced ")
    ]
    assert len(printed) == 1
    _, produced, _, read, _, different = (word.rstrip(",") for word in printed[0])
    assert produced == read == different
