"""The table of all suites, made from the data: `python -m tests.spark_suites.page`.

It writes tests/spark_suites.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.spark_suites import around, batch, starting, streaming
from tests.spark_suites.case import Case, Suite

PAGE: Final = Path(__file__).parent.parent / "spark_suites.md"
SUITES: Final = (*streaming.SUITES, *starting.SUITES, *batch.SUITES, *around.SUITES)

_INTRODUCTION = """\
# The suites of Spark's own Kafka source, and ours

<!-- Made by `python -m tests.spark_suites.page`: change the data in tests/spark_suites/, not this
page. -->

Users who change `format("kafka")` to `format("zkgroup")` should find what Spark's own tests
promise. So here are their cases (apache/spark, connector/kafka-0-10-sql, as of 2026), each with our
tests of the same behaviour, or with the reason why there is none. Nothing was copied: our tests
were written from the subject of a case. Cases that differ only in which implementation of Spark's
source they run on are one. **open** marks what we do not test yet.

"""


def page() -> str:
    cases = [one for suite in SUITES for one in suite.cases]
    tested = sum(1 for one in cases if one.tests)
    opened = sum(1 for one in cases if one.open)
    count = f"{len(cases)} rows: {tested} with tests of ours, {opened} with something open.\n"
    return _INTRODUCTION + count + "".join(map(_section, SUITES))


def _section(suite: Suite) -> str:
    rows = "".join(f"| {_cell(one.name)} | {_cell(_ours(one))} |\n" for one in suite.cases)
    return f"\n## {suite.name}\n\n| Spark's case | ours |\n| --- | --- |\n{rows}"


def _ours(one: Case) -> str:
    return "<br>".join(_parts(one))


def _parts(one: Case) -> Iterator[str]:
    for test in one.tests:
        path, _, name = test.partition("::")
        yield f"[{name}]({path})"
    if one.why:
        yield one.why
    if one.open:
        yield f"**open**: {one.open}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
