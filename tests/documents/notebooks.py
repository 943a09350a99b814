"""Runs the notebooks and keeps what they print and draw: `make notebooks`.

    python -m tests.documents.notebooks [NAME ...]

What goes to stderr is left out: it is Spark's log of this machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.notebook import RUNNING

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
TIMEOUT_S = 600


def executed(path: Path) -> Any:
    """Return the notebook with the outputs of a run from top to bottom."""
    found = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(found, timeout=TIMEOUT_S, kernel_name="python3", record_timing=False).execute()
    return found


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox(directory).start()
        os.environ[RUNNING] = directory
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        try:
            for name in names:
                path = FOLDER / f"{name}.ipynb"
                found = executed(path)
                for cell in found.cells:
                    if cell.cell_type == "code":
                        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
                nbformat.write(found, path)  # type: ignore[no-untyped-call]
                print(f"{name}: executed", flush=True)
        finally:
            sandbox.stop()


if __name__ == "__main__":
    main()
