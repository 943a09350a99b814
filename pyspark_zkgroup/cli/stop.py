"""`zkgroup stop`: end queries of a group from outside, at a point where all is committed."""

from __future__ import annotations

import json

import click

from pyspark_zkgroup.cli.asking import (
    Asking,
    chosen,
    outcome_values,
    refuse_others,
    status_of,
)
from pyspark_zkgroup.cli.cells import say
from pyspark_zkgroup.cli.completion import complete_group, complete_member
from pyspark_zkgroup.cli.reach import (
    checked_group,
    facts_of,
    json_option,
    store_of,
    zookeeper_option,
)

timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="How many seconds to wait for it. The request stands, whether or not it was met.",
)


@click.command("stop")
@click.argument("group", shell_complete=complete_group)
@click.argument("members", nargs=-1, shell_complete=complete_member)
@click.option("--all", "everybody", is_flag=True, help="All zkgroup members of the group.")
@timeout_option
@zookeeper_option
@json_option
def stop(
    group: str,
    members: tuple[str, ...],
    everybody: bool,
    timeout_s: float,
    connect: str,
    as_json: bool,
) -> None:
    """End the queries of MEMBERS of GROUP: their batches end and are committed, they leave.

    Exit status 0 when they have ended, 4 when one has not yet: the request stands, and `zkgroup
    members resume` withdraws it.
    """
    from pyspark_zkgroup.inspect.member_nodes import read_asked, read_standings
    from pyspark_zkgroup.inspect.report import report

    if bool(members) == everybody:
        raise click.UsageError("name members (`zkgroup members list`), or give --all")
    name = checked_group(group)
    with store_of(connect) as store:
        seen = report(facts_of(store, name), {})
        standings = read_standings(store, name, read_asked(store, name))
        resting = [consumer for consumer, at in standings.items() if at.rests]
        if everybody:
            ours = [m.consumer for m in seen.members if m.kind == "zkgroup"]
            wanted = sorted({*ours, *resting})
        else:
            wanted = chosen(seen, members, resting)
            refuse_others(seen, wanted)
        asking = Asking(store, name)
        asking.send("stop", wanted)
        outcomes = asking.wait("stop", wanted, timeout_s)
    if as_json:
        click.echo(json.dumps(outcome_values(outcomes), indent=1))
    else:
        for one in outcomes:
            say(f"{one.consumer}: {one.text}")
        if not outcomes:
            say(f"group {name} has no zkgroup member")
    raise SystemExit(status_of(outcomes))
