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
from tests.unit.test_operations import PROJECT

PAGES = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
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


def test_the_readme_links_the_pages_beside_it_and_the_home_page_links_all_others() -> None:
    home = PROJECT / "docs" / "index.md"
    beside = linked(PROJECT / "README.md")
    assert set(PROJECT.glob("*.md")) - {PROJECT / "README.md"} - beside == set()
    assert home in beside
    assert set((PROJECT / "docs").glob("*.md")) - {home} - linked(home) == set()


def test_the_readme_is_short_and_its_lines_are_narrow() -> None:
    lines = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [(reference.CLI, reference.cli()), (reference.API, reference.api())],
    ids=["commands", "python"],
)
def test_the_reference_is_that_of_the_code(path: Path, text: str) -> None:
    found = (PROJECT / path).read_text(encoding="utf-8")
    assert found == text, "run `python -m tests.documents.reference`"


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
