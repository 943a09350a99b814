"""`zkgroup coordinator`: a candidate alone, that serves every coordinated group of a ZooKeeper."""

from __future__ import annotations

import logging
import signal
import threading

import click

from pyspark_zkgroup.cli.reach import LogEnds, access_given, bootstrap_option, zookeeper_option
from pyspark_zkgroup.connect_string import parse_connect_string
from pyspark_zkgroup.errors import OptionError

_REFRESH_S = 30.0


@click.command("coordinator")
@zookeeper_option
@bootstrap_option
@click.option("--name", default="", help="Its id in /consumers/coordinator. By default a new one.")
@click.option(
    "--session-timeout-ms",
    type=click.IntRange(min=100),
    default=6000,
    show_default=True,
    help="How long after its death another candidate is elected.",
)
def coordinator(connect: str, bootstrap: str, name: str, session_timeout_ms: int) -> None:
    """Stand for election, and tell the members of all coordinated groups what to read.

    Runs until it is told to end (SIGTERM or Ctrl-C); another candidate is then elected at once.
    Where drivers have coordinator.candidate=false, run two of these on different machines.
    """
    from pyspark_zkgroup.clock import SYSTEM
    from pyspark_zkgroup.coordinator.candidate import Candidate, Watching
    from pyspark_zkgroup.group.coordination.candidacy import Candidacy
    from pyspark_zkgroup.membership.surroundings import unique_name
    from pyspark_zkgroup.zk.session import SessionSettings

    try:
        where = parse_connect_string(connect)
    except ValueError as error:
        raise OptionError(
            f"The ZooKeeper address {connect!r} {error}",
            "Give host:port[,host:port...][/chroot], as in zookeeper.connect of the queries",
        ) from error
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _signum, _frame: told.set())
    brokers = LogEnds(bootstrap, ())
    if bootstrap.strip():
        brokers.topics()  # a wrong address is found now, and not after the first election
    access = access_given()
    settings = SessionSettings(
        where.hosts,
        where.chroot,
        session_timeout_ms,
        session_timeout_ms,
        access.auth,
        access.set_acl,
        access.zookeeper,
    )
    candidate = Candidate(
        settings,
        Candidacy(name or unique_name(SYSTEM)),
        Watching(brokers.topics if bootstrap.strip() else None, _REFRESH_S, brokers.close),
    )
    candidate.start()
    try:
        told.wait()
    finally:
        candidate.close()
