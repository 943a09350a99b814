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
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.cells import add_row, say, table_title
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.found import found_group
from pyspark_zkgroup.cli.group_file import PARTITIONS_MAX, BadInput, Question, bad, read_question
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.cli.reach import former_group_option, place_options
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.assignors import STRATEGIES
from pyspark_zkgroup.group.balance import BALANCED
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.inspect.brokered_what_if import foreseen
from pyspark_zkgroup.inspect.jvm_consumers import imitate
from pyspark_zkgroup.inspect.jvm_version import NEWEST, JvmVersion
from pyspark_zkgroup.inspect.report import GroupFacts, report, snapshot_of
from pyspark_zkgroup.inspect.wanted import published
from pyspark_zkgroup.inspect.what_if import Change, changed
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.kafka.member_settings import ASSIGNORS
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import TopicPartition

_RULES = tuple(dict.fromkeys((BALANCED, *STRATEGIES, *ASSIGNORS)))


@dataclass(frozen=True)
class Answer:
    """Threads by partition, or members in a group of the brokers (`by_member`). `owned` is what a
    live group owns now.
    """

    rule: str
    members: tuple[str, ...]
    owners: Mapping[TopicPartition, str]
    remarks: tuple[str, ...] = ()
    owned: Mapping[TopicPartition, str] | None = None
    by_member: bool = False

    def member(self, owner: str) -> str:
        return owner if self.by_member else consumer_of(owner)


@click.command("assignment")
@click.argument("name", metavar="[GROUP]", default="", shell_complete=complete_group)
@click.option("--from", "file", type=click.File("rb"), help="A group as JSON; - reads stdin.")
@place_options
@former_group_option("group")
@click.option("--with", "more", metavar="NAME", multiple=True, help="As if NAME had joined.")
@click.option("--without", metavar="MEMBER", multiple=True, help="As if MEMBER had left.")
@click.option(
    "--partitions", metavar="TOPIC=N", multiple=True, help="As if TOPIC had N partitions."
)
@click.option(
    "--assignor",
    help="As if a live group were assigned by range or roundrobin. [the strategy of its zkgroup "
    "members; range if all are JVM members, which do not publish theirs]",
)
@click.option(
    "--version",
    "version",
    help=f"As if all members of a live group were JVM consumers of this version. [{NEWEST}, if all "
    "are]",
)
@click.option(
    "--exclude-internal-topics/--include-internal-topics",
    "exclude_internal",
    default=None,
    help="Whether patterns of a live group's members match the brokers' own topics. "
    "[default: they do not]",
)
@click.option("--json", "as_json", is_flag=True, help='Print only {"owners": {...}}.')
@click.pass_context
def assignment(
    context: click.Context,
    name: str,
    file: IO[bytes] | None,
    connect: str,
    bootstrap: str,
    group: str | None,
    more: tuple[str, ...],
    without: tuple[str, ...],
    partitions: tuple[str, ...],
    assignor: str | None,
    version: str | None,
    exclude_internal: bool | None,
    as_json: bool,
) -> None:
    """Show the assignment of GROUP, also after a change.

    Computes what the members of a live group own: by the strategy of its members, or as JVM
    consumers (0.8 to 1.1) assign. Options change the group first: one more member, one less,
    more partitions, another assignor. --with, --without and --partitions can be repeated. A
    new member subscribes as most of the others do; range and roundrobin order members by name.

    With --from it does the same for JVM consumers in a FILE. Its keys are "assignor", "topics"
    (name to number of partitions), "ids" (consumer id to registration), and optionally
    "version" and "exclude_internal_topics".

    Example: zkgroup assignment billing --with third --bootstrap-servers kafka1:9092
    """
    group = name or group
    given = (*more, *without, *partitions, assignor, version, exclude_internal)
    try:
        if file is not None:
            places = map(context.get_parameter_source, ("connect", "bootstrap"))
            more_given = group or any(option is not None for option in given)
            if more_given or ParameterSource.COMMANDLINE in places:
                raise click.UsageError("--from says it all: the other options are for a live group")
            answer = _of_jvm_members(read_question(file.read()))
        elif group:
            change = Change(more, without, _counts(partitions), assignor)
            _check(connect, group, change, version)
            with found_group(connect, bootstrap, group) as live:
                if isinstance(live, BrokeredLive):
                    answer = _brokered(live, change, version)
                else:
                    answer = _live(live, change, version, exclude_internal is not False)
        else:
            raise click.UsageError("give GROUP, or --from FILE")
    except AssignmentError as error:
        raise BadInput(f"{error}") from error
    for line in answer.remarks:
        say(line, err=True)
    if as_json:
        click.echo(json.dumps({"owners": _by_topic(answer.owners)}, indent=1))
    else:
        _show(answer)


def _check(connect: str, group: str, change: Change, version: str | None) -> None:
    """Before any server is asked, as far as it is wrong for both kinds of group."""
    if connect and "/" in group:
        bad("GROUP", group, "the name of a node, without a slash")
    for name in change.more:
        if "/" in name:
            bad("--with", name, "the name of a node, without a slash")
    if version is not None:
        JvmVersion.parse(version).strategy(change.strategy or "range")
    elif change.strategy not in (None, *_RULES):
        bad("--assignor", change.strategy, " or ".join(_RULES))


def _ids(group: str, names: Iterable[str]) -> tuple[str, ...]:
    """As a member would be called: member.id=NAME makes it GROUP_NAME."""
    return tuple(name if name.startswith(f"{group}_") else f"{group}_{name}" for name in names)


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


def _brokered(live: BrokeredLive, change: Change, version: str | None) -> Answer:
    if version is not None:
        bad("--version", version, "left out: JVM consumers of 0.8 to 1.1 are in ZooKeeper alone")
    if change.strategy is not None and change.strategy not in ASSIGNORS:
        bad("--assignor", change.strategy, " or ".join(ASSIGNORS))
    facts, seen = live.both()
    change = replace(change, without=tuple(chosen(seen, change.without)))
    then = foreseen(facts, change)
    owned = {row.partition: row.owner for row in seen.partitions if row.owner is not None}
    return Answer(then.rule, then.members, then.owners, then.remarks, owned, by_member=True)


def _live(live: LiveGroup, change: Change, version: str | None, exclude_internal: bool) -> Answer:
    facts = live.facts()
    without = tuple(chosen(report(facts, {}), change.without))
    change = replace(change, more=_ids(live.group, change.more), without=without)
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
    then, now = (Counter(map(answer.member, owners.values())) for owners in (answer.owners, owned))
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
    moved = sum(answer.member(answer.owners[p]) != answer.member(owned[p]) for p in both)
    return f"{moved} of {len(owned)} owned partitions would go to another member"
