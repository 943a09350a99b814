"""How large modules, classes and functions may be: a larger one has two reasons to exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

MODULE_LINES_MAX = 400
CLASS_LINES_MAX = 250
ATTRIBUTES_MAX = 12
FUNCTION_LINES_MAX = 70


def attributes(of: ast.ClassDef) -> set[str]:
    """What its methods keep in `self`."""
    return {
        node.attr
        for node in ast.walk(of)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def too_large(path: Path, text: str) -> Iterator[str]:
    if text.count("\n") > MODULE_LINES_MAX:
        yield f"{path}: {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            is_class = isinstance(node, ast.ClassDef)
            if lines > (CLASS_LINES_MAX if is_class else FUNCTION_LINES_MAX):
                yield f"{path}: {node.name} has {lines} lines"
        if isinstance(node, ast.ClassDef) and len(attributes(node)) > ATTRIBUTES_MAX:
            yield f"{path}: {node.name} has {len(attributes(node))} attributes"


def test_modules_classes_and_functions_stay_small() -> None:
    found = [
        fault
        for folder in ("pyspark_zkgroup", "sandbox", "jobs", "requirements")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for fault in too_large(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]

    assert found == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1\n" * 401, "a.py: 401 lines"),
        ("def f():\n" + "    x = 1\n" * 70, "a.py: f has 71 lines"),
        ("class A:\n" + "    x = 1\n" * 250, "a.py: A has 251 lines"),
        (
            "class A:\n    def f(self):\n" + "".join(f"        self.a{n} = 1\n" for n in range(13)),
            "a.py: A has 13 attributes",
        ),
    ],
)
def test_what_is_too_large_is_found(text: str, fault: str) -> None:
    assert list(too_large(Path("a.py"), text)) == [fault]


def test_no_module_of_tests_is_too_long() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (lines := path.read_text(encoding="utf-8").count("\n")) > MODULE_LINES_MAX
    ]

    assert found == []
