"""Pages that name tests: each test exists, and each option is described as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pyspark_zkgroup.options.parse import TABLE
from pyspark_zkgroup.options.refusals import REFUSED
from tests.spark_suites.case import Case
from tests.spark_suites.page import PAGE, SUITES, page

PROJECT = Path(__file__).resolve().parents[3]
COMPARED = PROJECT / "docs" / "compared.md"
THREATS = PROJECT / "docs" / "threats.md"
LINK = re.compile(r"\[(test_\w+)\]\(([\w/.]+\.py)\)")
NAME = re.compile(r"`([\w.]+)`")
TAKEN = {option.name for option in TABLE.options} | {old.name for old in TABLE.old_names}
REFUSED_NAMES = {refused.name for refused in REFUSED}


@cache
def names_in(path: Path) -> frozenset[str]:
    """Of the tests of a file that pytest would run."""
    if not path.is_file():
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(one.name for one in body if isinstance(one, ast.FunctionDef))


def absent(links: Iterator[tuple[str, Path]]) -> list[str]:
    return [f"{path}::{name}" for name, path in links if name not in names_in(path)]


def links(text: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for name, path in LINK.findall(text):
        yield name, (folder / path).resolve()


def rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """The heading above, and the cells of each row of a table but its head."""
    heading, is_head = "", True
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            is_head = True
        elif is_head:
            is_head = False
        elif not line.startswith("|-"):
            yield heading, [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize(
    ("path", "least"),
    [(COMPARED, 100), (PAGE, 100), (THREATS, 20)],
    ids=lambda given: str(given)[-20:],
)
def test_every_test_that_a_page_names_is_there(path: Path, least: int) -> None:
    text = path.read_text(encoding="utf-8")
    found = list(links(text, path.parent))
    assert absent(iter(found)) == []
    assert len(found) == text.count("[test_") > least


def test_a_test_that_is_not_there_is_found() -> None:
    here = Path(__file__)
    text = f"[test_a_test_that_is_not_there_is_found]({here.name}), [test_gone]({here.name})"
    text += " [test_of_nowhere](test_nowhere.py)"
    assert absent(links(text, here.parent)) == [
        f"{here}::test_gone",
        f"{here.parent / 'test_nowhere.py'}::test_of_nowhere",
    ]


def test_every_row_has_tests_or_says_that_it_has_none() -> None:
    for heading, cells in rows(COMPARED.read_text(encoding="utf-8")):
        assert len(cells) == (4 if heading == "Configuration of Spark" else 6), cells
        assert LINK.search(cells[-1]) or cells[-1] == "not tested", cells


def test_options_are_taken_or_refused_as_the_page_says() -> None:
    told = 0
    for heading, cells in rows(COMPARED.read_text(encoding="utf-8")):
        if heading != "Options of Spark's Kafka source":
            continue
        for name in NAME.findall(cells[0]):
            told += 1
            if cells[4].startswith("yes"):
                assert name in TAKEN, name
            else:
                assert cells[4].startswith("refused"), cells
                assert name not in TAKEN, name
                assert name in REFUSED_NAMES or "unknown" in cells[4], name
    assert told > 30


def test_the_page_of_suites_is_the_one_that_the_data_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.spark_suites.page`"


def test_a_suite_and_a_case_are_on_the_page_once() -> None:
    names = [suite.name for suite in SUITES]
    assert len(set(names)) == len(names)
    for suite in SUITES:
        cases = [case.name for case in suite.cases]
        assert len(set(cases)) == len(cases), suite.name
        assert all(len(set(case.tests)) == len(case.tests) for case in suite.cases)


def test_a_case_must_be_tested_or_explained() -> None:
    with pytest.raises(ValueError, match="neither tested nor explained"):
        Case("nothing known")
