"""docs/errors.md: each error and warning that a user may see has a code there, and one only."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from pyspark_zkgroup import errors
from tests.unit.test_operations import CODES_SAID, HOLE, PACKAGE, PROJECT, SAID

PAGE = (PROJECT / "docs" / "errors.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (ZKG-[0-9]{3}) \| `([^`]+)` \|", re.MULTILINE)
_LEVELS = ("warning", "error", "exception", "critical")
ROWS = _ROW.findall(PAGE)


def first_of(call: ast.Call) -> str:
    text = call.args[0]
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def logged(source: str) -> Iterator[ast.Call]:
    """What is said at a level that a user is meant to see."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LEVELS
            and re.search("log", ast.unparse(node.func.value), re.IGNORECASE)
            and node.args
        ):
            yield node


def without_code(source: str) -> list[str]:
    """Calls whose text has no code, and does not consist of an error, which has its own."""
    return [
        ast.unparse(call)
        for call in logged(source)
        if not re.match(r"\[ZKG-1[0-9]{2}\] ", first_of(call))
        and not (first_of(call) == "%s" and ast.unparse(call.args[-1]) == "error")
    ]


def test_each_warning_has_a_code() -> None:
    missing = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (found := without_code(path.read_text(encoding="utf-8")))
    }
    free = max(int(code[-3:]) for code in CODES_SAID if code < "ZKG-2") + 1
    assert missing == {}, f"begin it with [ZKG-{free}] , and add a row to docs/errors.md"


def test_a_warning_without_a_code_would_be_found() -> None:
    assert without_code('_log.warning("%s is gone", p)') == ["_log.warning('%s is gone', p)"]
    assert without_code('_log.warning("%s", text)') != []
    assert without_code('_log.warning("%s", error)\n_log.info("x")') == []


def test_each_code_of_the_package_is_on_the_page_once_and_no_other() -> None:
    kinds = {kind.code for kind in vars(errors).values() if hasattr(kind, "code")} - {"ZKG-000"}
    assert Counter(code for code, _ in ROWS) == Counter(kinds | CODES_SAID)


def test_the_page_names_the_class_of_each_error_and_the_text_of_each_warning() -> None:
    wrong = []
    for code, text in ROWS:
        kind = getattr(errors, text, None)
        if kind is None and f"[{code}] {re.sub('<[^>]+>', HOLE, text)}" not in SAID:
            wrong.append((code, text))
        if kind is not None and kind.code != code:
            wrong.append((code, text))
    assert wrong == []


def test_every_link_of_the_page_leads_somewhere() -> None:
    for file, anchor in re.findall(r"\]\(([a-z]+\.md)(?:#([^)]+))?\)", PAGE):
        text = (PROJECT / "docs" / file).read_text(encoding="utf-8")
        heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}
        assert not anchor or anchor in anchors, f"{file}#{anchor}"
