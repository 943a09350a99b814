"""catalogue.json: the code uses each entry with its fields, and each message says what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyspark_zkgroup import errors
from pyspark_zkgroup.catalogue import entries, finding, warning
from tests.harness import error_page, words

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = ("pyspark_zkgroup", "sandbox", "jobs")
CODES = {name: kind.code for name, kind in vars(errors).items() if hasattr(kind, "code")}
# Facts that an error carries, whether its text has them or not.
FACTS = frozenset({"topic", "partition", "offset"})
_LEVELS = ("warning", "error", "exception", "critical")
_LONGEST = 800


# What happened to several partitions is put together from texts of the catalogue.
WITHOUT_CATALOGUE = frozenset({"pyspark_zkgroup/planning/batch_read.py"})


class Use(NamedTuple):
    code: str
    message: str
    given: frozenset[str] | None


def is_logged(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _LEVELS
        and "log" in ast.unparse(node.func.value).lower().replace("catalogue", "")
    )


def without_code(source: str) -> list[str]:
    """Logged warnings that are neither in the catalogue nor an error, which has a code itself."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and is_logged(node)
        and not ast.unparse(node.args[0]).startswith("catalogue.warning('ZKG-1")
        and [ast.unparse(each) for each in node.args] != ["'%s'", "error"]
    ]


def errors_in_code(source: str) -> list[str]:
    """Errors whose text is not from the catalogue."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in CODES
        and node.args
        and not isinstance(node.args[0], ast.Starred)
    ]


def uses(source: str) -> Iterator[Use]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        owner, _, called = ast.unparse(node.func).rpartition(".")
        names = [each.arg for each in node.keywords]
        given = None if None in names else frozenset(name for name in names if name)
        if owner == "catalogue" and called == "warning":
            for code in constants(node.args[0]):
                yield Use(code, "", given)
        elif called in ("finding", "what_and_remedy") and owner in ("", "catalogue"):
            for code in constants(node.args[0]):
                for message in constants(node.args[1]) or every_message(code):
                    yield Use(code, message, given)
        elif called == "of" and owner in CODES:
            for message in constants(node.args[0]):
                yield Use(CODES[owner], message, given)


def constants(node: ast.expr) -> list[str]:
    """The strings that an argument may be; none where a variable names it."""
    if isinstance(node, ast.IfExp):
        return [*constants(node.body), *constants(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def every_message(code: str) -> list[str]:
    return list(entries()[code]["messages"])


def templates(use: Use) -> list[str]:
    entry = entries()[use.code]
    if not use.message:
        return [entry["text"]]
    return list(entry["messages"][use.message].values())


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((PROJECT / folder).rglob("*.py"))]


USES = [
    pytest.param(use, id=f"{path.relative_to(PROJECT)}-{use.code}-{use.message}")
    for path in sources()
    for use in uses(path.read_text("utf-8"))
]
USED = {(use.code, use.message) for param in USES for use in param.values if isinstance(use, Use)}
EACH = [(code, "") for code, entry in entries().items() if "text" in entry] + [
    (code, message) for code, entry in entries().items() for message in entry.get("messages", ())
]


@pytest.mark.parametrize("use", USES)
def test_the_code_gives_each_message_the_fields_it_has(use: Use) -> None:
    fields = {name for template in templates(use) for name in error_page.fields(template)}
    if use.given is not None:
        unused = use.given - fields
        assert fields <= use.given
        assert unused <= (FACTS if use.code[4] == "0" else set())


def test_each_message_is_used() -> None:
    assert set(EACH) - USED == set()


def test_each_warning_comes_from_the_catalogue() -> None:
    found = {
        str(path.relative_to(PROJECT)): missing
        for path in sources()
        if (missing := without_code(path.read_text("utf-8")))
    }
    free = max(int(code[4:]) for code in entries() if code < "ZKG-2") + 1
    assert found == {}, f"add ZKG-{free} to catalogue.json and use catalogue.warning()"


def test_each_error_comes_from_the_catalogue() -> None:
    found = {
        name: missing
        for path in sources()
        if (name := str(path.relative_to(PROJECT))) not in WITHOUT_CATALOGUE
        and not name.startswith("pyspark_zkgroup/delta/")
        and (missing := errors_in_code(path.read_text("utf-8")))
    }
    assert found == {}, "add a message to catalogue.json and use the error's of()"


def test_an_error_with_a_text_is_found() -> None:
    assert errors_in_code('raise OptionError("x", "y")') == ["OptionError('x', 'y')"]
    assert errors_in_code('raise errors.OptionError(f"{x}")') != []
    assert errors_in_code('raise OptionError.of("missing")\nOptionError(*texts)') == []


def test_no_code_is_written_elsewhere() -> None:
    """A text that begins with its code is not in the catalogue."""
    found = [
        f"{path.relative_to(PROJECT)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"\[ZKG-[0-9]{3}\] \S", node.value)
    ]
    assert found == []


def test_a_warning_without_a_code_is_found() -> None:
    assert without_code('_log.warning("%s is gone", p)') == ["_log.warning('%s is gone', p)"]
    assert without_code('_log.warning("%s", text)') != []
    assert without_code('_log.warning("%s", error)\n_log.info("x")') == []


def test_a_warning_and_a_finding_begin_with_their_code() -> None:
    assert warning("ZKG-105", option="startingTimestamp").startswith("[ZKG-105] ")
    assert "startingTimestamp" in warning("ZKG-105", option="startingTimestamp")
    text, remedy = finding("ZKG-208", "empty", lag=1200)
    assert text.startswith("[ZKG-208] ")
    assert "1,200" in text
    assert remedy


def test_each_class_of_error_has_an_entry() -> None:
    assert set(CODES.values()) - {"ZKG-000"} == {code for code in entries() if code < "ZKG-1"}


@pytest.mark.parametrize("code", entries())
def test_an_entry_has_a_title_a_cause_and_a_remedy(code: str) -> None:
    entry: dict[str, Any] = entries()[code]
    assert not entry["title"].endswith(".")
    for part in ("cause", "remedy"):
        assert entry[part].endswith(".")
        assert entry[part][0].isupper() or entry[part][0] in "`["


@pytest.mark.parametrize(("code", "message"), EACH)
def test_a_message_is_a_sentence_of_bearable_length(code: str, message: str) -> None:
    for template in templates(Use(code, message, None)):
        assert template
        assert not template.endswith((".", " "))
        first = error_page.rendered(code, template, message)[0]
        assert template[0] in "{'`\".-" or first.isupper() or template.startswith("rebalance.")
        assert len(error_page.rendered(code, template, message)) <= _LONGEST


@pytest.mark.parametrize("code", entries())
def test_an_entry_has_none_of_the_words_that_are_not_used(code: str) -> None:
    assert list(map(str, words.in_catalogue({code: entries()[code]}))) == []


def test_the_page_is_made_from_the_catalogue() -> None:
    written = error_page.PAGE.read_text("utf-8")
    assert written == error_page.page(), "run: python -m tests.harness.error_page"


def test_samples_are_used() -> None:
    wanted = {
        f"{code}.{message}.{field}"
        for code, message in EACH
        for template in templates(Use(code, message, None))
        for field in error_page.fields(template)
    }
    names = {
        name
        for each in wanted
        for code, message, field in [each.split(".")]
        for name in (f"{code}.{message}.{field}", f"{code}.{field}", field)
    }
    assert set(error_page.SAMPLES) - names == set()


def test_a_planted_word_is_found_in_each_kind_of_text() -> None:
    # The words are split by "~", so that the check does not find them here.
    source = (
        '"""No~body is here."""\n\nx = 1  # told~ of it\ny = f"{x} is\\n men~ded"\n'
        "def test_it_goes~_on() -> None: ...\n"
    )
    source, page, entry = (text.replace("~", "") for text in (source, "a\nIt goes~ on.", "sha~ll"))
    assert [found.place for found in words.in_source(source, "a.py")] == [
        "a.py:1",
        "a.py:3",
        "a.py:4",
        "a.py:5",
    ]
    assert [found.word for found in words.in_text(page, "a.md")] == ["goes~ on".replace("~", "")]
    assert [found.place for found in words.in_catalogue({"ZKG-101": {"text": entry}})] != []


def test_no_text_of_the_project_has_a_word_that_is_not_used() -> None:
    assert list(map(str, words.everywhere())) == []
