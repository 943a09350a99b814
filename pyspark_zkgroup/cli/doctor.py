"""`zkgroup doctor`: whether this machine and the servers have what a query needs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyspark_zkgroup.cli.cells import add_row, cell, say
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.finding import Finding
from pyspark_zkgroup.cli.reach import (
    check_places,
    former_group_option,
    json_option,
    place_options,
)
from pyspark_zkgroup.cli.seconds import Seconds
from pyspark_zkgroup.cli.wide import console

_WIDE = 100
_INDENT = 6
_MARKS = {"well": ("ok", "green"), "note": ("note", "yellow"), "ill": ("ill", "red")}


@click.command("doctor")
@click.argument("names", metavar="[GROUP]...", nargs=-1, shell_complete=complete_group)
@place_options
@former_group_option("more_names", multiple=True)
@click.option("--all-groups", is_flag=True, help="Look at all existing groups.")
@click.option(
    "--watch-seconds",
    "watch_s",
    type=Seconds(0.0),
    default=5.0,
    show_default=True,
    help="How long to watch a group with waiting or moving partitions; 0: look once.",
)
@click.option(
    "--brief",
    is_flag=True,
    help="Show only findings that need attention, and the number of the others.",
)
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    names: tuple[str, ...],
    connect: str,
    bootstrap: str,
    more_names: tuple[str, ...],
    all_groups: bool,
    watch_s: float,
    brief: bool,
    as_json: bool,
) -> None:
    """Check machine, servers and groups, and show what to do.

    Checks Java, Python, Spark and the decoder; ZooKeeper and the brokers of the options; and the
    given groups. Exit status 0 when nothing is wrong, else 1; notes do not count.

    Example: zkgroup doctor billing --bootstrap-servers kafka1:9092
    """
    from pyspark_zkgroup.cli.health import of_servers, of_this_machine

    groups = (*names, *more_names)
    if groups and all_groups:
        raise click.UsageError("--all-groups includes every GROUP: give one of the two")
    if groups or all_groups:
        check_places(connect, bootstrap)
    findings = list(of_this_machine())
    if connect or bootstrap:
        findings += of_servers(connect, bootstrap, None if all_groups else groups, watch_s)
    # A finding in good order that has a remedy asks the operator a question.
    shown = [f for f in findings if not brief or f.state != "well" or f.remedy]
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(f) for f in shown], indent=1))
    else:
        if shown:
            _show(shown)
        if brief:
            well = sum(f.state == "well" for f in findings)
            say(f"{well} of {len(findings)} checks are in order")
    context.exit(any(f.state == "ill" for f in findings))


def _show(findings: Sequence[Finding]) -> None:
    """A table where there is room for it, else each finding by itself with its remedy below."""
    out = console()
    if out.width < _WIDE:
        for finding in findings:
            _show_alone(out, finding)
        return
    table = Table("", "", "found", "what to do")
    for column in table.columns:
        column.overflow = "fold"
    for finding in findings:
        add_row(table, Text(*_MARKS[finding.state]), finding.thing, finding.text, finding.remedy)
    out.print(table)


def _show_alone(out: Console, finding: Finding) -> None:
    mark, style = _MARKS[finding.state]
    title = cell(finding.thing)
    title.stylize("bold")
    out.print(Text.assemble((f"{mark:<{_INDENT}}", style), title))
    for text, colour in ((finding.text, ""), (finding.remedy, "dim")):
        if text:
            line = cell(text)
            line.stylize(colour)
            out.print(Padding(line, (0, 0, 0, _INDENT), expand=False), highlight=False)
