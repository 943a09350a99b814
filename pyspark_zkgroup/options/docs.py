"""The options page, made from the table: `python -m pyspark_zkgroup.options.docs [project folder]`.

It writes docs/options.md, and in README.md what stands between the two marks, if they are there.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pyspark_zkgroup.options.option import Option, Table
from pyspark_zkgroup.options.parse import TABLE
from pyspark_zkgroup.options.refusals import ADDED_BY_SPARK, FIXED, OTHERS_OF_KAFKA, REFUSED

PAGE: Final = Path("docs") / "options.md"
README: Final = Path("README.md")
MARKS: Final = ("<!-- options: begin -->", "<!-- options: end -->")

_INTRODUCTION = """\
# Options of the reader

<!-- Made by `python -m pyspark_zkgroup.options.docs`: change the table there, not this page. -->

```python
orders = (
    spark.readStream.format("zkgroup")
    .option("zookeeper.connect", "zk1:2181/kafka")
    .option("group.id", "billing")
    .option("subscribe", "orders,payments")
    .load()
)
```

Case does not matter in names. Everything is checked at `load()`: an option that is unknown,
refused, impossible or at odds with another one fails there, with its name, what was given, and what
is allowed. Nothing is ignored, except what Spark itself puts among the options of a table
({added}, and names that begin with `option.`).
"""

_OLD_NAMES = """\
## Other names

Names of the JVM consumers and of Spark's Kafka source that stand for an option. Both names may be
given when they say the same.
"""

_FIXED = """\
## Accepted with one value

These say what happens anyway; any other value is refused.
"""

_REFUSED = """\
## Refused

Names of the JVM consumers and of Spark's Kafka source that have no meaning here.
"""


def page(table: Table = TABLE) -> str:
    added = ", ".join(f"`{name}`" for name in sorted(ADDED_BY_SPARK))
    parts = [_INTRODUCTION.replace("{added}", added)]
    for heading in dict.fromkeys(option.section.heading for option in table.options):
        under = [option for option in table.options if option.section.heading == heading]
        rows = [(f"`{o.name}`", _default(o), meaning(o), o.rule.allowed) for o in under]
        parts += [f"## {heading}\n", _table(("option", "default", "meaning", "allowed"), rows)]
    old = [(f"`{o.name}`", f"`{o.option.name}`", o.rule.allowed) for o in table.old_names]
    fixed = [(f"`{one.name}`", f"`{one.value}`", _sentence(one.why)) for one in FIXED]
    refused = [
        (f"`{one.name}`", _sentence(one.why), one.instead + ".")
        for one in (*REFUSED, OTHERS_OF_KAFKA)
    ]
    parts += [_OLD_NAMES, _table(("name", "stands for", "allowed"), old)]
    parts += [_FIXED, _table(("name", "value", "why"), fixed)]
    parts += [_REFUSED, _table(("name", "why", "instead"), refused)]
    return "\n".join(parts)


def meaning(option: Option[Any]) -> str:
    """The docstring below the row."""
    return _meanings(option.section.module)[option]


@cache
def _meanings(module: str) -> dict[Option[Any], str]:
    found = sys.modules[module]
    body = ast.parse(inspect.getsource(found)).body
    return {
        vars(found)[name.id]: " ".join(text.split())
        for row, below in pairwise(body)
        for name in getattr(row, "targets", [getattr(row, "target", None)])
        if isinstance(name, ast.Name) and isinstance(vars(found)[name.id], Option)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(text := below.value.value, str)
    }


def readme_section() -> str:
    """The options in short, for the README."""
    rows = ((f"`{o.name}`", _default(o), meaning(o)) for o in TABLE.options)
    return _table(("option", "default", "meaning"), rows)


def with_section(readme: str) -> str:
    """The README with what stands between the marks made anew; as it is where it has none."""
    begin, end = MARKS
    if begin not in readme or end not in readme:
        return readme
    before, _, rest = readme.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{readme_section()}{end}{after}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _default(option: Option[Any]) -> str:
    plain = option.required or option.default_text or option.default_shown == "none"
    return option.default_shown if plain else f"`{option.default_shown}`"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def main(folder: Path) -> None:
    (folder / PAGE).parent.mkdir(exist_ok=True)
    (folder / PAGE).write_text(page(), encoding="utf-8")
    readme = folder / README
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        readme.write_text(with_section(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
