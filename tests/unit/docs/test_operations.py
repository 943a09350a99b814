"""Messages and codes that docs/ quotes: each must be one of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pyspark_zkgroup import errors
from pyspark_zkgroup.catalogue import entries

PROJECT = Path(__file__).resolve().parents[3]
PAGES = [
    path.read_text(encoding="utf-8")
    for path in sorted((PROJECT / "docs").glob("*.md"))
    if path.name != "errors.md"
]
PACKAGE = PROJECT / "pyspark_zkgroup"

HOLE = "\0"
_FORMAT = re.compile(r"%[-#+ 0]*\d*(?:\.\d+)?[sdxrf]")
_FIELD = re.compile(r"\{[^}]*\}")
_CODE = re.compile(r"\[(ZKG-[0-9]+)\] ")
# A whole code; "ZKG-000" is that of the base class, which is never raised.
_CODES = re.compile(r"ZKG-[0-9]{3}")


def templates() -> Iterator[str]:
    """Every text of the package, with a hole for whatever is put into it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if node in parts:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield _FORMAT.sub(HOLE, node.value)
            elif isinstance(node, ast.JoinedStr):
                yield "".join(
                    part.value
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    else HOLE
                    for part in node.values
                )
    for code, entry in entries().items():
        if "text" in entry:
            yield f"[{code}] {_FIELD.sub(HOLE, entry['text'])}"
        for message in entry.get("messages", {}).values():
            yield f"[{code}] {_FIELD.sub(HOLE, message['text'])}"


@cache
def said() -> frozenset[str]:
    return frozenset(templates())


def quoted() -> list[str]:
    blocks = [
        block for page in PAGES for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    ]
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("[ZKG-")]


def unsaid(line: str) -> str:
    """What is wrong with a quoted line; nothing if the package says it whole."""
    wanted = re.sub(r"<[^>]+>", HOLE, line)
    if wanted in said():
        return ""
    code = _CODE.match(line)
    if code is None:
        return "the package says nothing like it"
    raised = {kind.code for kind in vars(errors).values() if hasattr(kind, "code")}
    if f"[{code[1]}] {HOLE}" in said():  # whatever it is given stands elsewhere
        raised = {code[1]}
    if code[1] not in raised:
        return f"no error has the code {code[1]}"
    return "" if _CODE.sub("", wanted) in said() else "no error says it"


@pytest.mark.parametrize("line", quoted())
def test_a_quoted_message_is_one_that_the_package_says(line: str) -> None:
    assert unsaid(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        "waiting for <n> partitions of group <group>",
        "[ZKG-013] <partition> ends at <end>",
        "[ZKG-999] Spark asks for a batch that this query has not planned",
        "ZooKeeper answers again after 3 s",
    ],
)
def test_a_quoted_message_that_does_not_exist_would_be_found(line: str) -> None:
    assert unsaid(line) != ""


def test_every_code_of_the_page_is_one() -> None:
    codes = {code for page in PAGES for code in _CODES.findall(page)}
    assert codes - entries().keys() == {"ZKG-000"} & codes
