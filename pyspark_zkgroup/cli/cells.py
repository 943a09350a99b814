"""The one way of a text into a table or a line of the terminal.

A text is never read as markup: the pattern [a-z]+ and a group named [red] are shown as they are.
"""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from pyspark_zkgroup.printable import printable


def cell(value: str | Text) -> Text:
    """A Text is taken as it is: it carries a style of our own."""
    return value if isinstance(value, Text) else Text(printable(value))


def table_title(text: str) -> Text | None:
    return Text(printable(text), style="table.title") if text else None


def add_row(table: Table, *values: str | Text) -> None:
    table.add_row(*map(cell, values))


def say(text: str, *, err: bool = False) -> None:
    click.echo(printable(text), err=err)
