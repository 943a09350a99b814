"""The arguments of the jobs: one meaning has one name in all of them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.listing import similar_names
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.group import seen_checkpoint
from pyspark_zkgroup.options.missing import Use

_ARGUMENT: Final = re.compile(r"--[a-z][a-z-]*")
# Which option of the reader an argument stands for.
_OPTIONS: Final = {
    "zookeeper": "zookeeper.connect",
    "bootstrap_servers": "kafka.bootstrap.servers",
    "group": "group.id",
    "subscribe": "subscribe",
    "subscribe_pattern": "subscribePattern",
    "threads": "threads",
    "starting_offsets": "startingOffsets",
    "starting_timestamp": "startingTimestamp",
    "ending_offsets": "endingOffsets",
    "ending_timestamp": "endingTimestamp",
}
# And which more in a stream. In a backfill they mean the job alone.
_STREAM_OPTIONS: Final = {
    "max_offsets": "maxOffsetsPerTrigger",
}


def job_parser(name: str, text: str, epilog: str) -> argparse.ArgumentParser:
    """`text` is the module's own: its first paragraph is what --help begins with."""
    return argparse.ArgumentParser(
        prog=name,
        description=text.split("\n\n", maxsplit=1)[0],
        epilog=epilog,
        # An argument that gets a longer sister must not change its meaning.
        allow_abbrev=False,
    )


def add_servers(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--zookeeper",
        metavar="HOSTS[/CHROOT]",
        help="ZooKeeper, as in zookeeper.connect; leave it out for a Kafka without ZooKeeper",
    )
    add(
        "--bootstrap-servers",
        metavar="HOSTS",
        help="brokers; without --zookeeper they also coordinate the group",
    )
    add(
        "--option",
        action="append",
        default=[],
        type=option,
        metavar="NAME=VALUE",
        help="any other option of the reader; may be given several times",
    )


def add_topics(parser: argparse.ArgumentParser) -> None:
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--subscribe", metavar="TOPICS", help="topics, separated by commas")
    topics.add_argument(
        "--subscribe-pattern", metavar="REGEX", help="read topics whose whole name matches"
    )
    parser.add_argument(
        "--threads", metavar="N", help="maximum number of Spark tasks that read (4)"
    )


def add_member(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", required=True, help="the consumer group to be a member of")
    parser.add_argument(
        "--starting-offsets",
        default="earliest",
        help="used where the group has no offset: earliest (default), latest, or JSON",
    )


def add_table(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--table", required=True, metavar="PATH", help="the Delta table; created if it is missing")
    add(
        "--checkpoint",
        required=True,
        metavar="PATH",
        help="directory of the checkpoint; each running job needs its own",
    )
    add("--max-offsets", type=count, metavar="N", help="maximum number of records per batch")


def add_ranges(parser: argparse.ArgumentParser) -> None:
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--starting-offsets",
        metavar="WHERE",
        help='earliest (default), or JSON such as {"orders": {"0": 23, "1": 17}}',
    )
    start.add_argument(
        "--starting-timestamp",
        type=timestamp,
        metavar="TIME",
        help="the first record of this time or later: milliseconds, or 2026-03-01T00:00:00+00:00",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument(
        "--ending-offsets",
        metavar="WHERE",
        help="latest (default), or JSON with the first offset that is not read",
    )
    end.add_argument(
        "--ending-timestamp",
        type=timestamp,
        metavar="TIME",
        help="before the first record of this time or later",
    )


def add_follow(parser: argparse._ActionsContainer, default: float | None, text: str) -> None:
    parser.add_argument("--follow", type=seconds, default=default, metavar="SECONDS", help=text)


def parsed(parser: argparse.ArgumentParser, given: Sequence[str] | None) -> argparse.Namespace:
    """Name a misspelt argument first: argparse only says that the right one is missing."""
    known = set(_ARGUMENT.findall(parser.format_help()))
    for word in sys.argv[1:] if given is None else given:
        name = word.partition("=")[0]
        if _ARGUMENT.fullmatch(name) and name not in known and (near := similar_names(name, known)):
            parser.error(f"there is no argument {name}{near}")
    return parser.parse_args(given)


def checked(
    parser: argparse.ArgumentParser, given: Sequence[str] | None, use: Use
) -> argparse.Namespace:
    """Report wrong arguments before Spark is started, and end the job with status 2."""
    arguments = parsed(parser, given)
    try:
        parse(reader_options(arguments, use), use)
    except ZkgroupError as error:
        parser.error(f"{error}")
    return arguments


def reader_options(arguments: argparse.Namespace, use: Use) -> dict[str, str]:
    names = {**_OPTIONS, **(_STREAM_OPTIONS if use == "stream" else {})}
    found = {names[name]: value for name, value in vars(arguments).items() if name in names}
    if use == "stream":
        # So that the reader can see in Spark's commit log that its last batch is done.
        found |= seen_checkpoint(arguments.checkpoint)
    found |= dict(arguments.option)
    return {name: str(value) for name, value in found.items() if value is not None}


def option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 3600")
    return found


def count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def timestamp(text: str) -> int:
    """Milliseconds since 1970. A time of day without a zone means another one on each machine."""
    if text.isascii() and text.isdecimal():
        return int(text)
    found: datetime | None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither milliseconds since 1970 nor a time with its zone, such as "
            "2026-03-01T00:00:00+00:00"
        )
    return round(found.timestamp() * 1000)
