"""Texts of others on their way to a terminal, a log, an error or a label."""

from __future__ import annotations

import ast
import io
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from pyspark_zkgroup.cli.assignment import Answer, _shares
from pyspark_zkgroup.cli.cells import add_row, cell, say, table_title
from pyspark_zkgroup.cli.describe import show
from pyspark_zkgroup.cli.offset_tables import committed_table
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.inspect.rows import GroupReport, MemberRow, PartitionRow
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, encode
from pyspark_zkgroup.printable import printable
from pyspark_zkgroup.spark.progress import read_progress
from pyspark_zkgroup.worker_log import PrintableFormatter

CLI = Path(__file__).resolve().parents[2] / "pyspark_zkgroup" / "cli"
HOSTILE = [
    "\x1b[2J\x1b[1;1Hall is well",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "[/x]",
    "[red]orders-[a-z]+[/red]",
    "[link=http://evil]here[/link]",
    "a\rb\x08\x7f\x9b31m",
    "\u202egnp.exe\u2066",
    "line\u2028break",
    "\ud800",
]
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(what: object) -> str:
    """As on a terminal without colours: an escape sequence is then never our own."""
    out = Console(file=io.StringIO(), width=300, no_color=True, force_terminal=False)
    out.print(what)
    return out.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def one_cell(text: str) -> object:
    table = Table(title=table_title(text))
    table.add_column("x", overflow="fold")
    add_row(table, text)
    return table


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("make", [one_cell, cell])
def test_a_cell_shows_the_text_and_does_nothing(text: str, make: Callable[[str], object]) -> None:
    out = shown(make(text))
    assert not HARMFUL.search(out)
    assert printable(text) in out


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_a_log_an_error_and_a_report_of_progress_do_nothing(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    say(text)
    record = logging.LogRecord("x", logging.WARNING, "", 0, "member %s", (text,), None)
    logged = PrintableFormatter("%(message)s").format(record)
    error = ServerError(f"{text} does not answer", f"Ask {text}")
    (progress,) = read_progress(
        {
            "sources": [
                {
                    "endOffset": encode(Plan("zookeeper", "g", "")),
                    "latestOffset": {"notes": [text], "waiting": {"t-0": text}},
                }
            ]
        }
    )
    assert printable(text) in progress.notes[0] == progress.waiting["t-0"]
    told = [capsys.readouterr().out, logged, str(error), error.what, *progress.notes]
    assert not any(HARMFUL.search(one) for one in told)


@pytest.mark.parametrize("text", HOSTILE)
def test_describe_and_the_other_tables_show_hostile_members(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    partition = TopicPartition(text, 0)
    members = (
        MemberRow(text, "jvm", 1, 0, 1, 1, "white_list", {text: 1}),
        MemberRow(f"{text}2", "unreadable", 2, 0, 0, trouble=f"{text} is unreadable"),
    )
    row = PartitionRow(partition, "stuck", f"{text}-0", 0, text, 5, 9, trouble=text)
    show(GroupReport(text, members, (row,), (text,)))
    out = capsys.readouterr().out
    assert not HARMFUL.search(out)
    assert printable(text) in out
    for table in (
        committed_table(text, {partition: 5}, {}),
        _shares(Answer("range", (text,), {partition: f"{text}-0"}), {}),
    ):
        assert not HARMFUL.search(shown(table))


def test_no_command_makes_a_cell_or_a_line_by_itself() -> None:
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(CLI.glob("*.py"))
        if path.name != "cells.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("add_row", "from_markup")
    ]
    assert found == []
