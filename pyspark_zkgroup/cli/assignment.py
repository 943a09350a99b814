"""`zkgroup assignment`: what the members of a group would own, as it is or if it were changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import IO

import click
from click.core import ParameterSource
from rich.table import Table

from pyspark_zkgroup.cli.asking import chosen
from pyspark_zkgroup.cli.cells import add_row, say, table_title
from pyspark_zkgroup.cli.counted import counted
from pyspark_zkgroup.cli.group_file import PARTITIONS_MAX, BadInput, Question, bad, read_question
from pyspark_zkgroup.cli.reach import config_option, store_of
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.assignors import STRATEGIES
from pyspark_zkgroup.group.balance import BALANCED
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.inspect.jvm_consumers import imitate
from pyspark_zkgroup.inspect.jvm_version import NEWEST, JvmVersion
from pyspark_zkgroup.inspect.report import GroupFacts, report, snapshot_of
from pyspark_zkgroup.inspect.wanted import published
from pyspark_zkgroup.inspect.what_if import Change, changed
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.model import TopicPartition


@dataclass(frozen=True)
class Answer:
    """Threads by partition. `owned` is what a live group owns now."""

    rule: str
    members: tuple[str, ...]
    owners: Mapping[TopicPartition, str]
    remarks: tuple[str, ...] = ()
    owned: Mapping[TopicPartition, str] | None = None


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
@click.option("--with", "more", metavar="NAME", multiple=True, help="If NAME were a member too.")
@click.option("--without", metavar="MEMBER", multiple=True, help="If MEMBER were gone.")
@click.option("--partitions", metavar="TOPIC=N", multiple=True, help="If TOPIC had N partitions.")
@click.option(
    "--assignor",
    help="If a live group were assigned by this: range or roundrobin. [what zkgroup members say; "
    "range where all are JVM members, which do not say theirs]",
)
@click.option(
    "--version",
    "version",
    help=f"If all members of a live group were JVM consumers of this version. [{NEWEST}, where all "
    "are]",
)
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
    more: tuple[str, ...],
    without: tuple[str, ...],
    partitions: tuple[str, ...],
    assignor: str | None,
    version: str | None,
    exclude_internal: bool | None,
    as_json: bool,
) -> None:
    """Show which thread of a group would own which partition.

    Of a live group, by the rule that its members go by, or as JVM consumers (0.8 to 1.1) would
    have it: as it is, or with another member (who reads what most of the others read; by range and
    roundrobin its place goes by its name), without one, with more partitions, by another assignor.
    --with, --without and --partitions may be given again.

    Or of JVM consumers in a FILE with the keys "assignor", "topics" (name to number of partitions)
    and "ids" (consumer id to registration), and if wanted "version" and "exclude_internal_topics".
    """
    given = (*more, *without, *partitions, assignor, version, exclude_internal)
    try:
        if file is not None:
            is_named = context.get_parameter_source("connect") is ParameterSource.COMMANDLINE
            if is_named or group or any(option is not None for option in given):
                raise click.UsageError("--from says it all: the other options are for a live group")
            answer = _of_jvm_members(read_question(file.read()))
        elif connect and group:
            change = Change(_ids(group, more), without, _counts(partitions), assignor)
            answer = _live(connect, group, change, version, exclude_internal is not False)
        else:
            raise click.UsageError("give --from FILE, or --zookeeper HOSTS and --group ID")
    except AssignmentError as error:
        raise BadInput(str(error)) from error
    for line in answer.remarks:
        say(line, err=True)
    if as_json:
        click.echo(json.dumps({"owners": _by_topic(answer.owners)}, indent=1))
    else:
        _show(answer)


def _ids(group: str, names: Iterable[str]) -> tuple[str, ...]:
    """As a member would be called: member.id=NAME makes it GROUP_NAME."""
    found = tuple(name if name.startswith(f"{group}_") else f"{group}_{name}" for name in names)
    for name in found:
        if "/" in name:
            bad("--with", name, "the name of a node, without a slash")
    return found


def _counts(texts: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in texts:
        topic, _, count = text.rpartition("=")
        if (
            not topic
            or not (count.isascii() and count.isdigit())
            or len(count) > len(str(PARTITIONS_MAX))
        ):
            bad("--partitions", text, "a topic and a number, such as orders=12")
        counts[topic] = int(count)
        if counts[topic] > PARTITIONS_MAX:
            bad("--partitions", text, f"a number of at most {PARTITIONS_MAX}")
    return counts


def _of_jvm_members(question: Question) -> Answer:
    found = imitate(
        question.version,
        question.assignor,
        question.ids,
        question.topics,
        question.exclude_internal_topics,
    )
    remarks = []
    followed = question.version.strategy(question.assignor)
    if followed != question.assignor:
        taken = f"consumers of {question.version} take {question.assignor!r} for {followed}"
        remarks.append(taken)
    remarks += [*filter(None, (found.failure,)), *found.notes]
    owners = {partition: str(thread) for partition, thread in found.owners.items()}
    rule = f"{question.assignor} of {question.version}"
    return Answer(rule, tuple(question.ids), owners, tuple(remarks))


def _live(
    connect: str, group: str, change: Change, version: str | None, exclude_internal: bool
) -> Answer:
    if "/" in group:
        bad("--group", group, "the name of a node, without a slash")
    _check_rule(change.strategy, version)
    # Here, so that a question about a file starts without a ZooKeeper client.
    from pyspark_zkgroup.inspect.group_reader import read_group, read_topics

    with store_of(connect) as store:
        facts = read_group(store, group, read_topics(store))
    change = replace(change, without=tuple(chosen(report(facts, {}), change.without)))
    is_ours = version is None and bool(published(snapshot_of(facts)))
    there = facts
    facts, remarks = changed(facts, change if is_ours else replace(change, strategy=None))
    if is_ours:
        answer = _by_their_rule(facts, exclude_internal)
    else:
        ids = {consumer: seen.data for consumer, seen in facts.ids.items()}
        answer = _of_jvm_members(
            Question(
                change.strategy or "range",
                JvmVersion.parse(version or NEWEST),
                facts.topics,
                ids,
                exclude_internal,
            )
        )
    owned = {p: seen.data.decode("utf-8", "replace") for p, seen in there.owners.items()}
    return replace(answer, remarks=(*remarks, *answer.remarks), owned=owned)


def _check_rule(assignor: str | None, version: str | None) -> None:
    """Before any server is asked."""
    if version is not None:
        JvmVersion.parse(version).strategy(assignor or "range")
    elif assignor is not None and assignor not in (BALANCED, *STRATEGIES):
        bad("--assignor", assignor, " or ".join((BALANCED, *STRATEGIES)))


def _by_their_rule(facts: GroupFacts, exclude_internal: bool) -> Answer:
    seen = report(facts, {}, exclude_internal=exclude_internal)
    rules = {f"{m.strategy} ({m.order})" if m.order else m.strategy for m in seen.members}
    owners = {row.partition: row.wanted_by for row in seen.partitions if row.wanted_by}
    members = tuple(member.consumer for member in seen.members)
    rule = ", ".join(sorted(filter(None, rules)))
    undecided = sorted({row.undecided for row in seen.partitions if row.undecided})
    return Answer(rule, members, owners, seen.notes or tuple(undecided))


def _by_topic(owners: Mapping[TopicPartition, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for partition in _sorted(owners):
        found.setdefault(partition.topic, {})[str(partition.partition)] = owners[partition]
    return found


def _sorted(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda each: (compare_key(each.topic), each.partition))


def _show(answer: Answer) -> None:
    owned = answer.owned
    number = counted(len(answer.members), "member")
    table = Table(title=table_title(f"{answer.rule}, {number}" if answer.rule else number))
    table.add_column("topic", overflow="fold")
    table.add_column("partition", justify="right")
    table.add_column("would be owned by", overflow="fold")
    if owned is not None:
        table.add_column("is owned by", overflow="fold")
    for partition in _sorted({**answer.owners, **(owned or {})}):
        row = [partition.topic, str(partition.partition), answer.owners.get(partition, "-")]
        if owned is not None:
            row.append(owned.get(partition, "-"))
        add_row(table, *row)
    console().print(table)
    if owned is not None:
        console().print(_shares(answer, owned))
        console().print(_moved(answer, owned), highlight=False)


def _shares(answer: Answer, owned: Mapping[TopicPartition, str]) -> Table:
    """How many partitions each would have, and has."""
    then, now = (Counter(map(consumer_of, owners.values())) for owners in (answer.owners, owned))
    table = Table()
    table.add_column("member", overflow="fold")
    for title in ("would own", "owns"):
        table.add_column(title, justify="right")
    for member in sorted({*answer.members, *then, *now}, key=compare_key):
        add_row(table, member, str(then[member]), str(now[member]))
    return table


def _moved(answer: Answer, owned: Mapping[TopicPartition, str]) -> str:
    """From member to member: between threads of one there is nothing to hand over."""
    both = answer.owners.keys() & owned.keys()
    moved = sum(consumer_of(answer.owners[p]) != consumer_of(owned[p]) for p in both)
    return f"{moved} of {len(owned)} owned partitions would go to another member"
