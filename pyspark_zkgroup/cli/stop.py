"""`zkgroup stop`: end queries of a group from outside, at a point where all is committed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from pyspark_zkgroup.cli.asking import chosen, outcome_values, refuse_others, status_of
from pyspark_zkgroup.cli.cells import say
from pyspark_zkgroup.cli.completion import complete_group, complete_member
from pyspark_zkgroup.cli.found import asking_members
from pyspark_zkgroup.cli.reach import json_option, place_options
from pyspark_zkgroup.cli.seconds import Seconds
from pyspark_zkgroup.listing import counted

timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=Seconds(0),
    default=60.0,
    show_default=True,
    help="Seconds to wait. The request remains even if the time is over.",
)


@click.command("stop")
@click.argument("group", shell_complete=complete_group)
@click.argument("members", nargs=-1, shell_complete=complete_member)
@click.option("--all", "every_member", is_flag=True, help="All zkgroup members of the group.")
@timeout_option
@click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation of --all; required with --json."
)
@place_options
@json_option
def stop(
    group: str,
    members: tuple[str, ...],
    every_member: bool,
    timeout_s: float,
    yes: bool,
    connect: str,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Stop queries of GROUP after their batch is committed.

    Exit status 0 when they have stopped, 4 when one has not stopped yet: then the request remains,
    and `zkgroup members resume` withdraws it.

    Example: zkgroup stop billing vm1-7f3a --zookeeper zk1:2181/kafka
    """
    if bool(members) == every_member:
        raise click.UsageError("name members (`zkgroup members list`), or give --all")
    with asking_members(connect, bootstrap, group) as asking:
        seen = asking.look(timeout_s)
        if every_member:
            ours = [m.consumer for m in seen.report.members if m.kind == "zkgroup"]
            wanted = sorted({*ours, *seen.outside})
            if wanted and not yes and (as_json or not _confirmed(group, wanted)):
                say("Nothing was changed: give --yes to stop all members", err=True)
                raise SystemExit(1)
        else:
            wanted = chosen(seen.report, members, seen.outside)
            refuse_others(seen.report, wanted)
        asking.send("stop", wanted)
        outcomes = asking.wait("stop", wanted, timeout_s)
    if as_json:
        click.echo(json.dumps(outcome_values(outcomes), indent=1))
    else:
        for one in outcomes:
            say(f"{one.consumer}: {one.text}")
        if not outcomes:
            say(f"Group {group} has no zkgroup members")
    raise SystemExit(status_of(outcomes))


def _confirmed(group: str, wanted: Sequence[str]) -> bool:
    for consumer in wanted:
        say(consumer)
    return click.confirm(f"Stop {counted(len(wanted), 'member')} of group {group}?")
