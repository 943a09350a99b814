"""Puts bytecode next to the sources in the zip files that Spark's Python workers import.

    .venv/bin/python requirements/bytecode.py

Python writes none into a zip. Each worker of Spark's, of which a query starts several, would
compile pyspark again: a second of processor time each, which is what most short tests would wait
for. The sources stay as they are, and apply where the bytecode is of another Python.
"""

from __future__ import annotations

import py_compile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return
    for path in sorted((Path(pyspark.origin).parent / "python" / "lib").glob("*.zip")):
        add_bytecode(path)


def add_bytecode(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.filename.endswith(".pyc")]
        contents = {entry.filename: archive.read(entry) for entry in entries}
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        made = Path(directory) / path.name
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry in entries:
                archive.writestr(entry, contents[entry.filename])
                if entry.filename.endswith(".py"):
                    code = bytecode(contents[entry.filename], entry.filename, Path(directory))
                    archive.writestr(entry.filename + "c", code)
        made.replace(path)


def bytecode(source: bytes, name: str, directory: Path) -> bytes:
    """Without the time of its source, which a zip keeps only roughly."""
    text, code = directory / "source.py", directory / "source.pyc"
    text.write_bytes(source)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(text), str(code), dfile=name, doraise=True, invalidation_mode=mode)
    return code.read_bytes()


if __name__ == "__main__":
    main()
