"""Writes docs/errors.md from pyspark_zkgroup/catalogue.json, with sample values in each message.

python -m tests.harness.error_page
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

from pyspark_zkgroup import errors
from pyspark_zkgroup.catalogue import entries

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "errors.md"
SAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("samples.json").read_text("utf-8"))
WIDTH = 100

_HEAD = """# Errors, warnings and findings

Look up the code of a message here: what it means, and what to do. Codes do not change between
releases, so you can search logs and set alerts by them. The values in the messages are samples.

- **ZKG-0xx, errors.** An error ends a query, a batch read or a command. A command prints it as one
  line on stderr and exits with status 1. In Python, catch the class that is named.
- **ZKG-1xx, warnings.** A warning appears in the log of the driver or an executor. The query
  continues.
- **ZKG-2xx, findings.** `zkgroup doctor GROUP` prints them.

Errors of Delta tables and column formats (ZKG-012 and 001) have more messages than those below.
Each message says what to do.

This page is generated from `pyspark_zkgroup/catalogue.json` by `python -m
tests.harness.error_page`.
"""


def fields(template: str) -> list[str]:
    """Return the names of the fields of a template."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def rendered(code: str, template: str, name: str = "") -> str:
    """Return the template with sample values: of this message, this code, or its fields."""
    values = {}
    for field in fields(template):
        at_code = SAMPLES.get(f"{code}.{field}", SAMPLES.get(field, f"<{field}>"))
        values[field] = SAMPLES.get(f"{code}.{name}.{field}", at_code)
    return template.format(**values)


def messages(code: str) -> Iterator[str]:
    """Return every message of a code as a user sees it."""
    entry = entries()[code]
    if "text" in entry:
        yield f"[{code}] {rendered(code, entry['text'])}"
    for name, message in entry.get("messages", {}).items():
        what, remedy = (rendered(code, message[part], name) for part in ("text", "remedy"))
        yield f"[{code}] {what}. {remedy}"


def page() -> str:
    found = entries()
    kinds = {kind.code: name for name, kind in vars(errors).items() if hasattr(kind, "code")}
    sections: dict[str, list[str]] = {}
    for code, entry in found.items():
        kind = f"`{kinds[code]}`: " if code in kinds else ""
        section = {"0": "Errors", "2": "Findings of `zkgroup doctor`"}.get(code[4])
        said = sections.setdefault(section or f"Warnings: {entry['section']}", [])
        said += [f"### {code}", "", f"{kind}**{entry['title']}.**", ""]
        if shown := list(_wrapped(messages(code), "    ")):
            said += ["```text", *shown, "```", ""]
        said += [*_wrapped([f"- Cause: {entry['cause']}"], "  ")]
        said += [*_wrapped([f"- What to do: {entry['remedy']}"], "  "), ""]
    body = [line for name, said in sections.items() for line in (f"## {name}", "", *said)]
    return "\n".join([_HEAD, *body]).rstrip() + "\n"


def _wrapped(texts: Iterator[str] | list[str], indent: str) -> Iterator[str]:
    wrap: Callable[[str], list[str]] = textwrap.TextWrapper(
        WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ).wrap
    for text in texts:
        yield from wrap(text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
