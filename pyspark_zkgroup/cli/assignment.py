"""`zkgroup assignment`: what the members of a group would own if they were JVM consumers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from pyspark_zkgroup.cli.reach import config_option, store_of
from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.java_order import compare_key
from pyspark_zkgroup.group.jvm import Imitation, imitate
from pyspark_zkgroup.group.jvm_version import NEWEST, JvmVersion
from pyspark_zkgroup.group.topics import legal_name
from pyspark_zkgroup.model import TopicPartition

PARTITIONS_MAX = 1_000_000


class BadInput(click.ClickException):
    exit_code = 2


@dataclass(frozen=True)
class Question:
    """A group and the rules it is to follow. `owned` is what a live group owns now."""

    assignor: str
    version: JvmVersion
    topics: Mapping[str, tuple[int, ...]]
    ids: Mapping[str, object]
    exclude_internal_topics: bool
    owned: Mapping[TopicPartition, str] | None = field(default=None)


@click.command("assignment")
@click.option("--from", "file", type=click.File("rb"), help="A group as JSON; - reads stdin.")
@click.option(
    "--zookeeper",
    "connect",
    metavar="HOSTS[/CHROOT]",
    envvar="ZKGROUP_ZOOKEEPER",
    help="Read a live group here; or set ZKGROUP_ZOOKEEPER.",
)
@config_option
@click.option("--group", help="The id of the live group.")
@click.option("--assignor", help="For a live group: range (the default) or roundrobin.")
@click.option("--version", "version", help=f"For a live group: of the consumers [{NEWEST}].")
@click.option(
    "--exclude-internal-topics/--include-internal-topics",
    "exclude_internal",
    default=None,
    help="For a live group: whether lists leave out the brokers' own topics (they do).",
)
@click.option("--json", "as_json", is_flag=True, help='Print only {"owners": {...}}.')
@click.pass_context
def assignment(
    context: click.Context,
    file: IO[bytes] | None,
    connect: str | None,
    group: str | None,
    assignor: str | None,
    version: str | None,
    exclude_internal: bool | None,
    as_json: bool,
) -> None:
    """Show which thread would own which partition in a group of JVM consumers (0.8 to 1.1).

    The group comes from a FILE with the keys "assignor", "topics" (name to number of partitions)
    and "ids" (consumer id to registration), and if wanted "version" and
    "exclude_internal_topics"; or from a live ZooKeeper.
    """
    rules = (assignor, version, exclude_internal)
    try:
        if file is not None:
            is_named = context.get_parameter_source("connect") is ParameterSource.COMMANDLINE
            if is_named or group or any(rule is not None for rule in rules):
                raise click.UsageError("--from says it all: the other options are for a live group")
            question = read_question(file.read())
        elif connect and group:
            question = _live(connect, group, *rules)
        else:
            raise click.UsageError("give --from FILE, or --zookeeper HOSTS and --group ID")
        found = imitate(
            question.version,
            question.assignor,
            question.ids,
            question.topics,
            question.exclude_internal_topics,
        )
    except AssignmentError as error:
        raise BadInput(str(error)) from error
    for line in (*_remarks(question), *filter(None, (found.failure,)), *found.notes):
        click.echo(line, err=True)
    if as_json:
        click.echo(json.dumps({"owners": _owners(found)}, indent=1))
    else:
        _show(question, found)


def read_question(data: bytes) -> Question:
    """What FILE asks. BadInput says which part of it cannot be used."""
    try:
        value: Any = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the file is not JSON: {error}") from error
    if not isinstance(value, dict):
        _bad("the file", value, 'an object with "assignor", "topics" and "ids"')
    assignor = _key(value, "assignor")
    if not isinstance(assignor, str):
        _bad('"assignor"', assignor, '"range" or "roundrobin"')
    version = value.get("version", NEWEST)
    if not isinstance(version, str):
        _bad('"version"', version, f'a text such as "{NEWEST}"')
    exclude = value.get("exclude_internal_topics", True)
    if not isinstance(exclude, bool):
        _bad('"exclude_internal_topics"', exclude, "true or false")
    ids = _key(value, "ids")
    if not isinstance(ids, dict):
        _bad('"ids"', ids, "an object of consumer ids and their registrations")
    for consumer in ids:
        if not consumer or "/" in consumer:
            _bad('"ids"', consumer, "consumer ids, which are names of nodes")
    parsed = JvmVersion.parse(version)
    return Question(assignor, parsed, _topics(_key(value, "topics")), ids, exclude)


def _topics(value: object) -> dict[str, tuple[int, ...]]:
    if not isinstance(value, dict):
        _bad('"topics"', value, "an object of topics and their numbers of partitions")
    for topic, count in value.items():
        if not legal_name(topic):
            _bad('"topics"', topic, "names made of letters, digits, '.', '_' and '-'")
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not whole or not 0 <= count <= PARTITIONS_MAX:
            _bad(f'"topics": {topic!r}', count, f"a number of partitions, 0 to {PARTITIONS_MAX}")
    return {topic: tuple(range(count)) for topic, count in value.items()}


def _key(value: Mapping[str, object], key: str) -> object:
    if key not in value:
        raise BadInput(f'the file has no "{key}"; "assignor", "topics" and "ids" are needed')
    return value[key]


def _bad(what: str, value: object, allowed: str) -> NoReturn:
    raise BadInput(f"{what} is {json.dumps(value)[:200]}, but must be {allowed}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value")


def _live(
    connect: str,
    group: str,
    assignor: str | None,
    version: str | None,
    exclude_internal: bool | None,
) -> Question:
    if "/" in group:
        _bad("--group", group, "the name of a node, without a slash")
    parsed = JvmVersion.parse(version or NEWEST)
    chosen = assignor or "range"
    parsed.strategy(chosen)
    # Here, so that a question about a file starts without a ZooKeeper client.
    from pyspark_zkgroup.zk.group_reader import read_group, read_topics

    with store_of(connect) as store:
        read = read_group(store, group, read_topics(store))
    return Question(
        chosen,
        parsed,
        read.topics,
        {consumer: seen.data for consumer, seen in read.ids.items()},
        True if exclude_internal is None else exclude_internal,
        {p: seen.data.decode("utf-8", "replace") for p, seen in read.owners.items()},
    )


def _remarks(question: Question) -> tuple[str, ...]:
    followed = question.version.strategy(question.assignor)
    if followed == question.assignor:
        return ()
    return (f"consumers of {question.version} take {question.assignor!r} for {followed}",)


def _owners(found: Imitation) -> dict[str, dict[str, str]]:
    owners: dict[str, dict[str, str]] = {}
    for partition in _sorted(found.owners):
        thread = found.owners[partition]
        owners.setdefault(partition.topic, {})[str(partition.partition)] = str(thread)
    return owners


def _sorted(partitions: Mapping[TopicPartition, object]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda each: (compare_key(each.topic), each.partition))


def _show(question: Question, found: Imitation) -> None:
    owned = question.owned
    members = f"{len(question.ids)} member{'' if len(question.ids) == 1 else 's'}"
    table = Table(title=f"{question.assignor} of {question.version}, {members}")
    table.add_column("topic")
    table.add_column("partition", justify="right")
    table.add_column("would be owned by", overflow="fold")
    if owned is not None:
        table.add_column("is owned by", overflow="fold")
    for partition in _sorted({**found.owners, **(owned or {})}):
        row = [partition.topic, str(partition.partition), str(found.owners.get(partition, "-"))]
        if owned is not None:
            row.append(owned.get(partition, "-"))
        table.add_row(*row)
    Console().print(table)
