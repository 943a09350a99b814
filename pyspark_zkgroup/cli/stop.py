"""`zkgroup stop`: end queries of a group from outside, at a point where all is committed."""

from __future__ import annotations

import json
from collections.abc import Sequence

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
from pyspark_zkgroup.cli.counted import counted
from pyspark_zkgroup.cli.found import store_with_requests
from pyspark_zkgroup.cli.reach import (
    facts_of,
    json_option,
    place_options,
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
@click.option("--yes", is_flag=True, help="Do not ask before --all; required with --json.")
@place_options
@json_option
def stop(
    group: str,
    members: tuple[str, ...],
    everybody: bool,
    timeout_s: float,
    yes: bool,
    connect: str,
    bootstrap: str,
    as_json: bool,
) -> None:
    """End queries of GROUP after their batch is committed.

    Exit status 0 when they have ended, 4 when one has not yet: the request stands, and `zkgroup
    members resume` withdraws it. For groups in ZooKeeper.

    Example: zkgroup stop billing vm1-7f3a --zookeeper zk1:2181/kafka
    """
    from pyspark_zkgroup.inspect.member_nodes import read_asked, read_standings
    from pyspark_zkgroup.inspect.report import report

    if bool(members) == everybody:
        raise click.UsageError("name members (`zkgroup members list`), or give --all")
    with store_with_requests(connect, bootstrap, group) as store:
        seen = report(facts_of(store, group), {})
        standings = read_standings(store, group, read_asked(store, group))
        resting = [consumer for consumer, at in standings.items() if at.rests]
        if everybody:
            ours = [m.consumer for m in seen.members if m.kind == "zkgroup"]
            wanted = sorted({*ours, *resting})
            if wanted and not yes and (as_json or not _confirmed(group, wanted)):
                say("No member was asked: give --yes to stop them all", err=True)
                raise SystemExit(1)
        else:
            wanted = chosen(seen, members, resting)
            refuse_others(seen, wanted)
        asking = Asking(store, group)
        asking.send("stop", wanted)
        outcomes = asking.wait("stop", wanted, timeout_s)
    if as_json:
        click.echo(json.dumps(outcome_values(outcomes), indent=1))
    else:
        for one in outcomes:
            say(f"{one.consumer}: {one.text}")
        if not outcomes:
            say(f"group {group} has no zkgroup member")
    raise SystemExit(status_of(outcomes))


def _confirmed(group: str, wanted: Sequence[str]) -> bool:
    for consumer in wanted:
        say(consumer)
    return click.confirm(f"Stop {counted(len(wanted), 'member')} of group {group}?")
