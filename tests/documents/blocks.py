"""The code that the project's pages print: fenced blocks, with their page, line and language."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RUN = ("sh", "python", "properties")
"""What the runner has to know a way for. `text` is what programs say, compared by other tests."""
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})(.*)$")
_COMMAND = re.compile(
    r"^(?: {4}|\t)\s*(?:\$ |(?:make|pip|python3?|spark-submit|zkgroup)\s|\.option)"
)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    """Of its opening fence, from 1 on."""
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def opening(self) -> str:
        """Its first line, by which a scene names it: lines of a page move, this stays."""
        return self.text.partition("\n")[0]


def pages(project: Path) -> list[Path]:
    return [
        project / "README.md",
        project / "CONTRIBUTING.md",
        *sorted((project / "docs").glob("*.md")),
    ]


def blocks(project: Path) -> list[Block]:
    return [
        block
        for page in pages(project)
        for block in blocks_of(page.relative_to(project).as_posix(), page.read_text("utf-8"))
    ]


def blocks_of(page: str, text: str) -> Iterator[Block]:
    opened: tuple[int, str, str] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, inside = (number, fence[2], fence[3].strip()), []
        elif fence is not None and fence[2].startswith(opened[1]) and not fence[3].strip():
            code = textwrap.dedent("\n".join(inside)) + "\n"
            yield Block(page, opened[0], opened[2], code)
            opened = None
        else:
            inside.append(line)
    if opened is not None:
        raise ValueError(f"{page}:{opened[0]}: this block has no end")


def unfenced(page: str, text: str) -> list[str]:
    """Indented lines that look like commands: a reader of fenced blocks alone would miss them."""
    found, fenced = [], False
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _COMMAND.match(line):
            found.append(f"{page}:{number}: {line.strip()}")
    return found
