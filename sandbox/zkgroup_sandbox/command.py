"""`zkgroup sandbox start|status|stop`: real servers on this machine that outlive the command."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from types import FrameType

import click

from pyspark_zkgroup.jars.cache import cache_directory
from zkgroup_sandbox import Sandbox, SandboxStatus
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS
from zkgroup_sandbox.sandbox import TICK_MS

DEFAULT_DIRECTORY = str(cache_directory(os.environ) / "sandbox")

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DIRECTORY,
    show_default="sandbox in the user's cache",
    help="Where state, data and logs of the servers are kept.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on standard output, for programs."
)


@click.group()
def sandbox() -> None:
    """Run ZooKeeper and Kafka servers to try things out."""


@sandbox.command()
@directory_option
@click.option(
    "--kafka",
    type=click.Choice(sorted(KAFKA_VERSIONS)),
    default="3.9",
    show_default=True,
    help="3.9 keeps its state in ZooKeeper; 4.1 does not (KRaft) and starts ZooKeeper as well.",
)
@click.option(
    "--brokers",
    type=click.IntRange(0, 9),
    default=1,
    show_default=True,
    help="Number of Kafka brokers; 0 starts ZooKeeper alone.",
)
@click.option(
    "--zookeepers",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="Number of ZooKeeper servers; several form an ensemble.",
)
@click.option(
    "--tick-ms",
    type=click.IntRange(10, 60_000),
    default=TICK_MS,
    show_default=True,
    help="ZooKeeper's tick; the shortest session timeout is two of them.",
)
@click.option("--durable", is_flag=True, help="ZooKeeper waits for the disk at each write.")
@json_option
def start(
    directory: Path,
    kafka: str,
    brokers: int,
    zookeepers: int,
    tick_ms: int,
    durable: bool,
    as_json: bool,
) -> None:
    """Start the servers, and return when all of them answer.

    Servers that run already in the same directory are left alone.
    """
    # As at Ctrl-C: what was launched so far is ended again.
    signal.signal(signal.SIGTERM, _end)
    started = Sandbox(
        directory,
        kafka,
        brokers,
        zookeepers,
        tick_ms,
        durable=durable,
        detached=True,
        say=_say,
    ).start()
    _show(started.status(), as_json)


@sandbox.command()
@directory_option
@json_option
def status(directory: Path, as_json: bool) -> None:
    """Say which servers run and answer."""
    _show(Sandbox.attach(directory, _say).status(), as_json)


@sandbox.command()
@directory_option
@json_option
def stop(directory: Path, as_json: bool) -> None:
    """End the servers. Their data stays for a later start."""
    attached = Sandbox.attach(directory, _say)
    if not any(server.alive for server in attached.servers):
        _say(f"nothing runs in {attached.directory}")
    attached.stop()
    _show(attached.status(), as_json)


def _show(status: SandboxStatus, as_json: bool) -> None:
    if as_json:
        value = {**asdict(status), "queries_zookeeper_connect": _for_queries(status)}
        click.echo(json.dumps(value, indent=2))
        return
    click.echo(f"sandbox in {status.directory}: {status.phase}")
    if status.phase != "stopped":
        click.echo(f"  zookeeper.connect        {_for_queries(status)}")
        if _for_queries(status) != status.zookeeper_connect:
            click.echo(f"  (ZooKeeper's own root)   {status.zookeeper_connect}")
    if status.bootstrap_servers and status.phase != "stopped":
        click.echo(f"  kafka.bootstrap.servers  {status.bootstrap_servers}")
    for server in status.servers:
        life = server.life if server.answers or server.life != "running" else "does not answer"
        if status.phase == "stopped":
            life = "stopped"
        process = f"process {server.pid}" if server.pid is not None else ""
        click.echo(f"  {server.name:<14} {server.address:<18} {life:<16} {process}".rstrip())


def _for_queries(status: SandboxStatus) -> str:
    """Groups live below the chroot of the brokers, unless these have no nodes there (KRaft)."""
    return status.kafka_zookeeper_connect or status.zookeeper_connect


def _say(text: str) -> None:
    click.echo(f"sandbox: {text}", err=True)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + signal.SIGTERM)
