"""The command `zkgroup`. A subcommand is imported when it is called: each starts quickly."""

from __future__ import annotations

from importlib import import_module

import click

from pyspark_zkgroup._version import __version__
from pyspark_zkgroup.errors import ZkgroupError

# A subcommand is the click command of this name in the module of this name beside this one.
COMMANDS = (
    "assignment",
    "completion",
    "coordinator",
    "demo",
    "describe",
    "doctor",
    "groups",
    "lag",
    "members",
    "offsets",
    "sandbox",
    "stop",
)


class CommandLine(click.Group):
    """Our errors end a command as one line on stderr and exit status 1; click's, of usage, as 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pyspark_zkgroup.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ZkgroupError as error:
            raise click.ClickException(" ".join(str(error).split())) from error


@click.command(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zkgroup")
def main() -> None:
    """Tools around zkgroup, the Spark source that reads Kafka as a member of a ZooKeeper group."""
