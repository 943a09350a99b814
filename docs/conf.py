"""Builds the documentation site: `make docs`."""

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
VERSION = ROOT / "pyspark_zkgroup" / "_version.py"

project = "zkgroup"
author = "The zkgroup authors"
release = re.findall(r'__version__ = "(.+)"', VERSION.read_text(encoding="utf-8"))[0]
version = release

extensions = ["myst_parser"]
# Headings have the anchors that they have where the repository is browsed.
myst_heading_anchors = 4

# Quotes and dashes are those of the source: commands and JSON can be copied.
smartquotes = False

html_theme = "furo"
html_title = f"zkgroup {release}"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

_SECTION = re.compile(r"^## (.+)\n\n((?:.+\n)+)", re.MULTILINE)
_PAGE = re.compile(r"\[(.+)\]\(([\w-]+)\.md\)")

# Fences, code, links and headings: no codes are linked in these.
_KEPT = re.compile(r"(^```.*?^```|`[^`\n]*`|\[[^\]]*\]\([^)]*\)|^#.*?$)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"ZKG-\d{3}")
_ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def link(code: re.Match[str]) -> str:
    known = f"\n### {code[0]}\n" in _ERRORS
    return f"[{code[0]}](errors.md#{code[0].lower()})" if known else code[0]


def codes(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Link each code of an error or warning to its entry."""
    if docname != "errors":
        parts = _KEPT.split(source[0])
        source[0] = "".join(p if n % 2 else _CODE.sub(link, p) for n, p in enumerate(parts))


def messages(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Put each message of the page of errors on one line, so that the browser wraps it."""
    if docname == "errors":
        source[0] = source[0].replace("\n    ", " ").replace("\n[ZKG", "\n\n[ZKG")
        source[0] = source[0].replace("```text\n\n", "```text\n")


def navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the site's navigation from the lists on the home page, with the same titles."""
    if docname != "index":
        return
    for heading, body in _SECTION.findall(source[0]):
        pages = "\n".join(f"{title} <{page}>" for title, page in _PAGE.findall(body))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", codes)
    app.connect("source-read", messages)
    app.connect("source-read", navigation)
