"""`zkgroup doctor`: whether this machine and the servers have what a query needs."""

from __future__ import annotations

import dataclasses
import json

import click
from rich.console import Console
from rich.table import Table

from pyspark_zkgroup.cli.reach import bootstrap_option, config_option, json_option

_MARKS = {"well": "[green]ok[/]", "note": "[yellow]note[/]", "ill": "[red]ill[/]"}


@click.command("doctor")
@click.option(
    "--zookeeper",
    "connect",
    metavar="HOSTS[/CHROOT]",
    envvar="ZKGROUP_ZOOKEEPER",
    default="",
    help="Look at these servers too, as zookeeper.connect names them; or set ZKGROUP_ZOOKEEPER.",
)
@config_option
@bootstrap_option
@click.option("--group", default="", help="Look whether this group is known there.")
@json_option
@click.pass_context
def doctor(context: click.Context, connect: str, bootstrap: str, group: str, as_json: bool) -> None:
    """Check Java, Python, Spark, decoder, ZooKeeper, permissions, clock and brokers.

    Exit status 0 when nothing is ill, 1 otherwise; notes are no illness.
    """
    from pyspark_zkgroup.cli.health import of_servers, of_this_machine

    findings = list(of_this_machine())
    if connect or bootstrap:
        findings += of_servers(connect, bootstrap, group)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(f) for f in findings], indent=1))
    else:
        table = Table("", "", "found", "what to do")
        for column in table.columns:
            column.overflow = "fold"
        for finding in findings:
            table.add_row(_MARKS[finding.state], finding.thing, finding.text, finding.remedy)
        Console().print(table)
    context.exit(any(f.state == "ill" for f in findings))
