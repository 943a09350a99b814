"""Finds words that the project does not use, listed in words.txt, in all that a person reads.

python -m tests.harness.words
"""

from __future__ import annotations

import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("words.txt")
CATALOGUE = ROOT / "pyspark_zkgroup" / "catalogue.json"
# Where a link leads: an anchor has the words of its heading.
_TARGET = re.compile(r"\]\([^)\n]*\)")
_TEXT_TOKENS = {
    number
    for name in ("COMMENT", "STRING", "FSTRING_MIDDLE")
    if (number := getattr(tokenize, name, None)) is not None
}


class Found(NamedTuple):
    place: str
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.place}: '{self.word}'; write: {self.instead}"


def rules(listed: str) -> list[tuple[re.Pattern[str], str]]:
    lines = [line for line in listed.splitlines() if line and not line.startswith("#")]
    pairs = [line.split(" -> ") for line in lines]
    return [(re.compile(rf"\b(?:{old})\b", re.IGNORECASE), new) for old, new in pairs]


RULES = rules(LIST.read_text("utf-8"))


def in_text(text: str, place: str) -> Iterator[Found]:
    for number, line in enumerate(_TARGET.sub("]", text).splitlines(), 1):
        for pattern, instead in RULES:
            for match in pattern.finditer(line):
                yield Found(f"{place}:{number}", match[0], instead)


def in_source(text: str, place: str) -> Iterator[Found]:
    """Comments, docstrings and other strings, and the names of tests."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _TEXT_TOKENS:
            said = token.string
        elif token.type == tokenize.NAME and token.string.startswith("test_"):
            said = token.string.replace("_", " ")
        else:
            continue
        for found in in_text(said, place):
            line = int(found.place.rpartition(":")[2]) + token.start[0] - 1
            yield found._replace(place=f"{place}:{line}")


def in_catalogue(entries: dict[str, object]) -> Iterator[Found]:
    for code, entry in entries.items():
        yield from in_text(json.dumps(entry, ensure_ascii=False), code)


def pages() -> list[Path]:
    """Pages and notebooks, and files whose code has none of the words: they are read as text."""
    patterns = ("*.md", "docs/**/*.md", "notebooks/*.ipynb", "Makefile", "*.toml", "*.cfg")
    sources = ("pyspark_zkgroup/**/_native/src/**/*.rs", "tests/**/*.java", "requirements/*.in")
    return [path for pattern in (*patterns, *sources) for path in sorted(ROOT.glob(pattern))]


def modules() -> list[Path]:
    folders = ("pyspark_zkgroup", "sandbox", "jobs", "requirements", "tests")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def everywhere() -> Iterator[Found]:
    yield from in_catalogue(json.loads(CATALOGUE.read_text("utf-8")))
    for path in pages():
        yield from in_text(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    for path in modules():
        yield from in_source(path.read_text("utf-8"), str(path.relative_to(ROOT)))


if __name__ == "__main__":
    found = list(everywhere())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
