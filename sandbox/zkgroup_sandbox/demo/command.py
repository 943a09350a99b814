"""`zkgroup demo`: prepares a directory, runs the demo there, and leaves nothing behind."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from pyspark_zkgroup.delta.jars import delta_jars
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.play import GROUP, TOPIC, Balance, Play
from zkgroup_sandbox.demo.screen import Screen
from zkgroup_sandbox.demo.spark_jobs import SparkJobs
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS


@click.command()
@click.option(
    "--kafka",
    type=click.Choice(sorted(KAFKA_VERSIONS)),
    default="3.9",
    show_default=True,
    help="3.9 keeps its state in ZooKeeper; with newer ones only the group is in ZooKeeper.",
)
@click.option("--remove-one-row", is_flag=True, hidden=True, help="The count must then fail.")
def demo(kafka: str, remove_one_row: bool) -> None:
    """Let three Spark drivers share a topic, and count all rows.

    One joins, one leaves, one is killed. Starts its own ZooKeeper and Kafka, and takes about two
    minutes. Exit status 0 only if the Delta table contains each produced record once.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory = Path(tempfile.mkdtemp(prefix="zkgroup-demo-"))
    keep = True
    try:
        verdict = _play(directory, kafka, remove_one_row=remove_one_row)
        keep = not verdict.right and not remove_one_row
    except KeyboardInterrupt:
        keep = False
        click.echo("interrupted; everything is stopped", err=True)
        sys.exit(130)
    finally:
        if keep:
            click.echo(f"the table and all logs are kept in {directory}", err=True)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    click.echo(verdict.line)
    sys.exit(0 if verdict.right else 1)


def _play(directory: Path, kafka: str, *, remove_one_row: bool) -> Balance:
    screen = Screen(Console(highlight=False))
    jars = delta_jars(screen.say)
    servers = directory / "servers"
    sandbox = Sandbox(servers, kafka=kafka, say=screen.say)
    play = None
    try:
        sandbox.start()
        in_zookeeper = kafka == "3.9"
        jobs = SparkJobs(
            directory=directory,
            zookeeper_connect=(
                sandbox.kafka_zookeeper_connect if in_zookeeper else sandbox.zookeeper_connect
            ),
            bootstrap_servers=None if in_zookeeper else sandbox.bootstrap_servers,
            group=GROUP,
            topic=TOPIC,
            jars=tuple(jars),
        )
        screen.say(f"ZooKeeper and Kafka {kafka} run in {servers}")
        play = Play(sandbox, jobs, screen)
        return play.run(remove_one_row=remove_one_row)
    finally:
        # A second Ctrl-C must not leave half of it running.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if play is not None:
            play.close()
        sandbox.kill()
