"""`zkgroup doctor`: whether this machine and the servers have what a query needs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import click
from rich.table import Table

from pyspark_zkgroup.cli.finding import Finding
from pyspark_zkgroup.cli.reach import bootstrap_option, config_option, json_option
from pyspark_zkgroup.cli.wide import console

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
@click.option("--group", default="", help="Look at this group too: who is stuck, idle or behind.")
@click.option(
    "--watch-seconds",
    "watch_s",
    type=click.FloatRange(min=0.0),
    default=5.0,
    show_default=True,
    help="How long a group is watched in which something waits or moves; 0: look at it once.",
)
@click.option(
    "--brief", is_flag=True, help="Leave out what is well; for people, say how much that is."
)
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    connect: str,
    bootstrap: str,
    group: str,
    watch_s: float,
    brief: bool,
    as_json: bool,
) -> None:
    """Check Java, Python, Spark, decoder, ZooKeeper, permissions, clock, brokers, and a group.

    Exit status 0 when nothing is ill, 1 otherwise; notes are no illness.
    """
    from pyspark_zkgroup.cli.health import of_servers, of_this_machine

    findings = list(of_this_machine())
    if connect or bootstrap:
        findings += of_servers(connect, bootstrap, group, watch_s)
    shown = [f for f in findings if not brief or f.state != "well"]
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(f) for f in shown], indent=1))
    else:
        if shown:
            _show(shown)
        if brief:
            console().print(f"{len(findings) - len(shown)} of {len(findings)} things are well")
    context.exit(any(f.state == "ill" for f in findings))


def _show(findings: Sequence[Finding]) -> None:
    table = Table("", "", "found", "what to do")
    for column in table.columns:
        column.overflow = "fold"
    for finding in findings:
        table.add_row(_MARKS[finding.state], finding.thing, finding.text, finding.remedy)
    console().print(table)
