"""The command `zkgroup`. A subcommand is imported when it is called: each starts quickly.

Other distributions add subcommands by entry points of the group `zkgroup.commands`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

from pyspark_zkgroup._version import __version__
from pyspark_zkgroup.errors import ZkgroupError

# A subcommand is the click command of this name in the module of this name next to this one.
COMMANDS = (
    "assignment",
    "completion",
    "coordinator",
    "describe",
    "doctor",
    "exporter",
    "groups",
    "lag",
    "members",
    "offsets",
    "peek",
    "schema",
    "stop",
    "top",
)
ADDED = "zkgroup.commands"
# What a user may call without the distribution that has it.
ELSEWHERE = {"demo": "zkgroup-sandbox", "sandbox": "zkgroup-sandbox"}


class CommandLine(click.Group):
    """Our errors end a command as one line on stderr and exit status 1; click's, of usage, as 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *_added()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command
        if cmd_name in COMMANDS:
            module = import_module(f"pyspark_zkgroup.cli.{cmd_name}")
            command = getattr(module, cmd_name)
            return command
        if found := _added().get(cmd_name):
            command = found.load()
            return command
        # A shell that completes a line must not see a message.
        if ctx.resilient_parsing:
            return None
        if cmd_name in ELSEWHERE:
            distribution = ELSEWHERE[cmd_name]
            raise click.ClickException(
                f"'zkgroup {cmd_name}' needs the package {distribution}, which is not installed. "
                f"Run: python -m pip install {distribution}"
            )
        from pyspark_zkgroup.listing import similar_names

        near = similar_names(cmd_name, self.list_commands(ctx))
        raise click.UsageError(f"No such command {cmd_name!r}{near}.", ctx)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ZkgroupError as error:
            raise click.ClickException(" ".join(f"{error}".split())) from error


def _added() -> dict[str, EntryPoint]:
    return {found.name: found for found in entry_points(group=ADDED)}


@click.command(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zkgroup")
def main() -> None:
    """Look at and change consumer groups, in ZooKeeper or coordinated by the brokers."""
