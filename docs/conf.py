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

html_theme = "furo"
html_title = f"zkgroup {release}"
html_show_copyright = False
html_copy_source = False

_SECTION = re.compile(r"^## (.+)\n\n((?:.+\n)+)", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w-]+)\.md\)")


def navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the site's navigation of the lists on the home page."""
    if docname != "index":
        return
    for heading, body in _SECTION.findall(source[0]):
        pages = "\n".join(_PAGE.findall(body))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", navigation)
