"""The rooms of the package as the import contracts order them: the block in DESIGN.md.

    python -m tests.harness.rooms          writes it

A room is above what it may import; `|` marks rooms on one level, which know nothing of each other.
"""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pyspark_zkgroup"
DESIGN = ROOT / "DESIGN.md"
BEGIN, END = "<!-- rooms: made by python -m tests.harness.rooms -->", "<!-- end of rooms -->"


def drawn() -> str:
    lines = ["```", *_layers("layers", PACKAGE, 0)]
    return "\n".join([*lines, "```"])


def _layers(contract: str, folder: Path, depth: int) -> list[str]:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    found: list[str] = []
    for layer in config[f"importlinter:contract:{contract}"]["layers"].split("\n"):
        rooms = re.findall(r"\w+", layer)
        for number, room in enumerate(rooms):
            found.append(_line(folder, room, depth, beside=number > 0))
            if room == "protocols":
                found += _layers("protocols", folder / room, depth + 1)
    return found


def _line(folder: Path, room: str, depth: int, *, beside: bool) -> str:
    path = folder / room
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    first = path / "__init__.py" if path.is_dir() else files[0]
    doc = ast.get_docstring(ast.parse(first.read_text(encoding="utf-8"))) or ""
    said = doc.partition("\n")[0].rstrip(".")
    name = "  " * depth + ("| " if beside else "") + room + ("/" if path.is_dir() else "")
    return f"{name:<26} {said}"


def main() -> None:
    text = DESIGN.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    DESIGN.write_text(f"{before}{BEGIN}\n{drawn()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
