"""`zkgroup sandbox`: real servers on this machine that outlive the command, topics and events."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from types import FrameType

import click

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import cache_directory
from zkgroup_sandbox import Sandbox, SandboxStatus
from zkgroup_sandbox.example import by_example
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS
from zkgroup_sandbox.produce import Paced, json_event
from zkgroup_sandbox.produce import produce as write_events
from zkgroup_sandbox.sandbox import TICK_MS
from zkgroup_sandbox.topics import known_topics

_TELL_EVERY_S = 5.0

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
    help="3.9 keeps its state in ZooKeeper; newer ones do not (KRaft) and can do without it.",
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
    type=click.IntRange(0, 9),
    default=1,
    show_default=True,
    help="Number of ZooKeeper servers; several form an ensemble. 0 only with --kafka 4.1 or later.",
)
@click.option(
    "--tick-ms",
    type=click.IntRange(10, 60_000),
    default=TICK_MS,
    show_default=True,
    help="ZooKeeper's tick; the shortest session timeout is two of them.",
)
@click.option("--registry", is_flag=True, help="Start a schema registry, too (Apicurio).")
@click.option("--durable", is_flag=True, help="ZooKeeper waits for the disk at each write.")
@json_option
def start(
    directory: Path,
    kafka: str,
    brokers: int,
    zookeepers: int,
    tick_ms: int,
    registry: bool,
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
        registry=registry,
        say=_say,
    ).start()
    _show(started.status(), as_json)


@sandbox.command()
@directory_option
@json_option
def status(directory: Path, as_json: bool) -> None:
    """Show which servers run and answer."""
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


@sandbox.command()
@click.argument("name")
@directory_option
@click.option("--partitions", type=click.IntRange(1, 1000), default=4, show_default=True)
def topic(name: str, directory: Path, partitions: int) -> None:
    """Create the topic NAME.

    Example: zkgroup sandbox topic orders --partitions 6
    """
    Sandbox.attach(directory, _say).create_topic(name, partitions)
    click.echo(f"Created topic {name} with {partitions} partitions")


@sandbox.command()
@click.argument("topic")
@directory_option
@click.option("--count", type=click.IntRange(1), help="Number of events.  [default: 1000]")
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="Events per second; without --count until Ctrl-C. By default all at once.",
)
@click.option(
    "--json",
    "example",
    help="An example of an event, which is varied.",
)
def produce(
    topic: str, directory: Path, count: int | None, rate: float | None, example: str | None
) -> None:
    """Write JSON events to TOPIC.

    Events vary the example of --json: numbers count up, and a list gives each event one element.

    Example: zkgroup sandbox produce orders --rate 10 --json '{"id": 1, "customer": ["ann", "bob"]}'
    """
    attached = Sandbox.attach(directory, _say)
    make_event = json_event if example is None else by_example(example)
    if topic not in (known := [t for b in attached.brokers[:1] for t in known_topics(b)]):
        raise SandboxError.of(
            "unknown_topic",
            topic=topic,
            known=", ".join(known) or "none",
            directory=attached.directory,
        )
    if rate is None:
        written = write_events(
            attached.bootstrap_servers, topic, count or 1000, make_event=make_event
        )
    else:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        paced = Paced(
            attached.bootstrap_servers, topic, rate, make_event=make_event, limit=count
        ).start()
        try:
            while not paced.wait(_TELL_EVERY_S):
                click.echo(f"Wrote {paced.so_far.count} events to {topic}")
        except KeyboardInterrupt:
            pass
        written = paced.stop()
    click.echo(f"Wrote {written.count} events to {topic}: ends are {written.end_offsets}")


def _show(status: SandboxStatus, as_json: bool) -> None:
    if as_json:
        value = {**asdict(status), "queries_zookeeper_connect": _for_queries(status)}
        click.echo(json.dumps(value, indent=2))
        return
    click.echo(f"sandbox in {status.directory}: {status.phase}")
    if status.phase != "stopped" and status.zookeeper_connect:
        click.echo(f"  zookeeper.connect        {_for_queries(status)}")
        if _for_queries(status) != status.zookeeper_connect:
            click.echo(f"  (ZooKeeper's own root)   {status.zookeeper_connect}")
    if status.bootstrap_servers and status.phase != "stopped":
        click.echo(f"  kafka.bootstrap.servers  {status.bootstrap_servers}")
    if status.schema_registry_url and status.phase != "stopped":
        click.echo(f"  schema.registry.url      {status.schema_registry_url}")
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
