"""`zkgroup completion`: what a shell needs to complete commands, options, groups and members."""

from __future__ import annotations

import logging
from contextlib import closing

import click
from click.shell_completion import CompletionItem, get_completion_class

from pyspark_zkgroup.errors import ZkgroupError

VARIABLE = "_ZKGROUP_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes zkgroup commands in SHELL.

    It completes commands, options, groups and members. The servers are those of --zookeeper or
    --bootstrap-servers on the line, or of ZKGROUP_ZOOKEEPER or ZKGROUP_BOOTSTRAP_SERVERS.

    Example: source <(zkgroup completion bash)
    """
    found = get_completion_class(shell)
    assert found is not None  # a Choice of those that there are
    click.echo(found(context.find_root().command, {}, "zkgroup", VARIABLE).source())


def complete_group(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Live ones. A shell waits for this, and shows nothing of what goes wrong."""
    from pyspark_zkgroup.cli.reach import LogEnds, store_of
    from pyspark_zkgroup.inspect.group_reader import read_groups

    connect, bootstrap = _place(context), str(context.params.get("bootstrap") or "")
    names: set[str] = set()
    logging.disable()
    try:
        if connect:
            with store_of(connect) as store:
                names.update(read_groups(store))
        if bootstrap:
            with closing(LogEnds(bootstrap, ())) as brokers:
                names.update(group.group for group in brokers.groups(None))
    except ZkgroupError:
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def complete_member(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from pyspark_zkgroup.cli.reach import store_of
    from pyspark_zkgroup.inspect.group_reader import read_group
    from pyspark_zkgroup.inspect.member_nodes import read_asked

    connect, group = _place(context), context.params.get("group")
    if not connect or not group:
        return []
    logging.disable()
    try:
        with store_of(connect) as store:
            names = {*read_group(store, group, {}).ids, *read_asked(store, group)}
    except (ZkgroupError, ValueError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _place(context: click.Context) -> str:
    return str(context.params.get("connect") or "")
