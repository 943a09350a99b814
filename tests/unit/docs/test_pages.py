"""What the project's pages name: other pages and their chapters, and commands of `zkgroup`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pyspark_zkgroup.cli.main import main
from tests.documents import reference
from tests.unit.docs.test_operations import PROJECT

PAGES = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").glob("*.md"))]
README_LINES_MAX, PAGE_LINES_MAX, PARAGRAPH_LINES_MAX, WIDTH = 150, 250, 5, 100
GENERATED = ("options.md", "errors.md", "cli.md", "api.md", "benchmarks.md")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`]*`")
_INLINE = re.compile(r"`(zkgroup\s[^`<]+)`")  # "zkgroup <token>" is no command


def anchors(page: Path) -> set[str]:
    """Of its headings, as they are made where the pages are shown."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def dead(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(_CODE.sub("", text)):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            found.append(link)
    return found


def commands(text: str) -> Iterator[str]:
    shell = "\n".join(_SHELL.findall(text)).replace("\\\n", " ")
    yield from (line.strip() for line in shell.splitlines() if line.strip().startswith("zkgroup "))
    yield from (" ".join(found.split()) for found in _INLINE.findall(_CODE.sub("", text)))


def wrong(line: str) -> str:
    """What of a command line there is not: a command, or an option of it."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = main
    context = click.Context(main)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        if words[0] == "...":
            return ""
        found = command.get_command(context, words[0])
        if found is None:
            return words[0]
        command, words = found, words[1:]
    known = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h"}
    known |= {name for parameter in command.params for name in parameter.secondary_opts}
    given = [re.match(r"-[\w-]+", word) for word in words if word.startswith("-") and word != "-"]
    return next((name[0] for name in given if name and name[0] not in known), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_its_options_are_there(page: Path) -> None:
    lines = commands(page.read_text(encoding="utf-8"))
    assert {line: why for line in lines if (why := wrong(line))} == {}


def linked(page: Path) -> set[Path]:
    """Return the pages that a page links."""
    found = _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
    return {(page.parent / link.partition("#")[0]).resolve() for link in found}


def test_the_readme_links_pages_next_to_it_and_the_home_page_all_others() -> None:
    home = PROJECT / "docs" / "index.md"
    beside = linked(PROJECT / "README.md")
    assert set(PROJECT.glob("*.md")) - {PROJECT / "README.md"} - beside == set()
    assert home in beside
    assert set((PROJECT / "docs").glob("*.md")) - {home} - linked(home) == set()


def paragraphs(text: str) -> list[list[str]]:
    """Return the lines of each paragraph and list item: no tables, headings, code or comments."""
    found: list[list[str]] = [[]]
    for line in _CODE.sub("", text).splitlines():
        if not line.strip() or line.startswith(("|", "#", "<!--", "      ")):
            found.append([])
        elif re.match(r" *([-*]|\d+\.) ", line):
            found.append([line])
        else:
            found[-1].append(line)
    return [lines for lines in found if lines]


def unwieldy(text: str, lines_max: int) -> list[str]:
    """Return what is wrong with the form of a page."""
    long = [f"{len(text.splitlines())} lines"] if len(text.splitlines()) > lines_max else []
    for lines in paragraphs(text):
        # A single word, such as a link, may be longer than a line.
        long += [line for line in lines if len(line) > WIDTH and " " in line.strip()]
        long += [f"{len(lines)} lines: {lines[0]}"] if len(lines) > PARAGRAPH_LINES_MAX else []
    return long


@pytest.mark.parametrize(
    "page",
    [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_pages_are_short_and_their_prose_is_narrow(page: Path) -> None:
    if page.name not in GENERATED:
        lines_max = README_LINES_MAX if page.name == "README.md" else PAGE_LINES_MAX
        assert unwieldy(page.read_text(encoding="utf-8"), lines_max) == []


@pytest.mark.parametrize("page", sorted(PROJECT.glob("*.md")), ids=lambda page: page.name)
def test_prose_of_pages_outside_of_docs_is_narrow(page: Path) -> None:
    lines = [line for each in paragraphs(page.read_text(encoding="utf-8")) for line in each]
    assert [line for line in lines if len(line) > WIDTH and " " in line.strip()] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [(reference.CLI, reference.cli()), (reference.API, reference.api())],
    ids=["commands", "python"],
)
def test_the_reference_is_that_of_the_code(path: Path, text: str) -> None:
    found = (PROJECT / path).read_text(encoding="utf-8")
    assert found == text, "run `python -m tests.documents.reference`"


def test_a_page_that_is_hard_to_read_would_be_found() -> None:
    wide = "word " * 21
    assert unwieldy(f"{wide}\n\n| {wide} |\n\n```text\n{wide}\n```\n", 9) == [wide]
    assert unwieldy("a\n" * 6 + "\n" + "- b\n" * 6, 12) == ["13 lines", "6 lines: a"]


def prose(text: str) -> str:
    """Return a page without its code."""
    return _SPAN.sub("", _CODE.sub("", text))


def outside_of_code(text: str) -> list[str]:
    """Return lines with options of commands or JSON that a site would show as prose."""
    found = re.compile(r"""(?<![\w|-])--[a-z]|\{\\?["']""")
    lines = prose(text).splitlines()
    return [line for line in lines if not line.startswith(("<!--", "#")) and found.search(line)]


def uneven(text: str) -> list[str]:
    """Return the rows of tables that have more or fewer cells than their heads."""
    found, cells = [], 0
    for line in _CODE.sub("", text).splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        cells = (cells or bars) if bars else 0
        found += [line] if bars != cells else []
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_and_json_are_code(page: Path) -> None:
    assert outside_of_code(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_of_a_table_has_the_cells_of_its_head(page: Path) -> None:
    assert uneven(page.read_text(encoding="utf-8")) == []


def test_the_site_keeps_quotes_and_dashes() -> None:
    lines = (PROJECT / "docs" / "conf.py").read_text(encoding="utf-8").splitlines()
    assert "smartquotes = False" in lines


def test_examples_of_commands_can_be_run() -> None:
    blocks = re.findall(r"^```text\n(zkgroup .*)\n```", reference.cli(), re.MULTILINE)
    assert len(blocks) > 15
    assert {line: why for line in blocks if (why := wrong(line))} == {}


def test_broken_tables_and_code_in_prose_would_be_found() -> None:
    assert uneven("| a | b |\n| - | - |\n| `c|d` | e |\n| `c\\|d` | e |\n") == ["| `c|d` | e |"]
    assert outside_of_code('a --b\n`--b` {"c": 1}\n`{"c"}`\n```sh\na --b\n```\n') == [
        "a --b",
        ' {"c": 1}',
    ]


def test_what_is_not_there_would_be_found() -> None:
    readme = PROJECT / "README.md"
    assert dead(readme, "[a](docs/none.md) [b](docs/delta.md#none) [c](#why)") == [
        "docs/none.md",
        "docs/delta.md#none",
    ]
    assert wrong("zkgroup offsets imports billing") == "imports"
    assert wrong("zkgroup offsets import billing f --shift-by 1") == "--shift-by"
    assert wrong("zkgroup lag G --fail-above 5 --zookeeper z  # none") == ""
    assert list(commands("```sh\nzkgroup lag G \\\n  --json\n```\n`zkgroup\ndescribe`")) == [
        "zkgroup lag G    --json",
        "zkgroup describe",
    ]
