"""`zkgroup offsets`: show, save, restore and set the committed offsets of a group."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import click

from pyspark_zkgroup.cli.cells import say
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.counted import cut, listed
from pyspark_zkgroup.cli.found import LiveOrBrokered, found_group
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.cli.offset_file import read_file, written
from pyspark_zkgroup.cli.offset_tables import committed_table, kafka_table, moves_table, outcome
from pyspark_zkgroup.cli.reach import json_option, place_options
from pyspark_zkgroup.cli.undo_file import save_undo
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.inspect.reset import KeptOffsets, Move, moves, shifted
from pyspark_zkgroup.listing import first_few, similar_names
from pyspark_zkgroup.model import TopicPartition

_TOPIC = re.compile(r"([a-zA-Z0-9._-]+)(?::([0-9]{1,10}(?:,[0-9]{1,10})*))?")
# A number below is a time before 1973, or seconds. Above are the years that have five digits.
_MS_MIN, _MS_MAX = 10**11, 253_402_300_799_999
_in_kafka_option = click.option(
    "--in-kafka",
    is_flag=True,
    help="For a group in ZooKeeper: its offsets in Kafka, whichever client committed them.",
)


@click.group("offsets")
def offsets() -> None:
    """Show, save, restore and set the committed offsets of a group."""


@offsets.command("show")
@click.argument("group", shell_complete=complete_group)
@place_options
@_in_kafka_option
@json_option
def show(group: str, connect: str, bootstrap: str, in_kafka: bool, as_json: bool) -> None:
    """Show the committed offsets of GROUP.

    For a group in ZooKeeper also those in Kafka.

    Example: zkgroup offsets show billing --bootstrap-servers kafka1:9092
    """
    with found_group(connect, bootstrap, group, may_be_new=in_kafka) as live:
        found = _found(live, in_kafka=in_kafka)
        if as_json:
            click.echo(json.dumps(written(found), indent=1))
            return
        if in_kafka or not isinstance(live, LiveGroup):
            console().print(kafka_table(group, found))
            return
        side = live.in_kafka(None)
    if side.untold:
        say(f"Offsets in Kafka are not shown: {side.untold}", err=True)
    console().print(committed_table(group, found, side.stored))


@offsets.command("export")
@click.argument("group", shell_complete=complete_group)
@place_options
@_in_kafka_option
@click.option(
    "--to", "file", type=click.File("w"), default="-", help="Write to this file; - is stdout."
)
def export(group: str, connect: str, bootstrap: str, in_kafka: bool, file: IO[str]) -> None:
    """Write the committed offsets of GROUP as JSON.

    {"topic": {"partition": offset}}, as Spark has it in startingOffsets.

    Example: zkgroup offsets export billing --bootstrap-servers kafka1:9092 --to billing.json
    """
    with found_group(connect, bootstrap, group, may_be_new=in_kafka) as live:
        found = _found(live, in_kafka=in_kafka)
    # Others are no offsets: to Spark -1 is the end of the log, and -2 its start.
    valid = {p: n for p, n in found.items() if n is not None and n >= 0}
    if len(valid) < len(found):
        left = first_few(sorted(found.keys() - valid), 3, kind="partition")
        say(f"Not exported, as the group has no valid offset there: {left}", err=True)
    json.dump(written(valid), file, indent=1)
    file.write("\n")


def _writing(command: Any) -> Any:
    """The options of every command that sets offsets."""
    for option in (
        click.option(
            "--execute", is_flag=True, help="Make the changes. Without this they are only shown."
        ),
        click.option(
            "--force", is_flag=True, help="Also while a group in ZooKeeper has live members."
        ),
        click.option(
            "--also-kafka",
            is_flag=True,
            help="For a group in ZooKeeper: also replace offsets in Kafka that another client has "
            "committed. Copies that zkgroup members have written are always replaced.",
        ),
        click.option(
            "--undo",
            type=click.Path(dir_okay=False, path_type=Path),
            help="A new file for the offsets as they were [GROUP-<time>.undo.json].",
        ),
        json_option,
        place_options,
    ):
        command = option(command)
    return command


@offsets.command("import")
@click.argument("group", shell_complete=complete_group)
@click.argument("file", type=click.File("rb"))
@_writing
def import_(
    group: str,
    file: IO[bytes],
    connect: str,
    bootstrap: str,
    as_json: bool,
    undo: Path | None,
    force: bool,
    also_kafka: bool,
    execute: bool,
) -> None:
    """Set the offsets of GROUP to those of FILE.

    FILE is what export or Spark writes, or an undo file.
    Partitions that FILE does not name stay as they are. With --zookeeper the offsets in ZooKeeper
    are set; without it those of a group that the brokers coordinate.

    Example: zkgroup offsets import billing billing.json --bootstrap-servers kafka1:9092 --execute
    """
    asked = read_file(file.read(), getattr(file, "name", "-"))
    with found_group(connect, bootstrap, group, may_be_new=True) as live:
        kept = live.kept()
        named: dict[str, set[int]] = {}
        for partition in asked:
            named.setdefault(partition.topic, set()).add(partition.partition)
        for topic, numbers in sorted(named.items()):
            _check_there(kept, topic, numbers)
        _set(
            live,
            asked,
            execute=execute,
            force=force,
            undo=undo,
            as_json=as_json,
            also_kafka=also_kafka,
        )


@offsets.command("reset")
@click.argument("group", shell_complete=complete_group)
@click.option("--to-earliest", is_flag=True, help="To the start of the logs.")
@click.option("--to-latest", is_flag=True, help="To the end of the logs.")
@click.option(
    "--to-time",
    metavar="ISO|MS",
    help="To the first record at or after this time: 2026-11-23T02:08:20Z, or milliseconds.",
)
@click.option("--to-offset", type=click.IntRange(min=0), help="To this offset.")
@click.option("--shift-by", type=int, help="From the committed offset, by +N or -N.")
@click.option(
    "--topic", "topics", multiple=True, metavar="TOPIC[:P,...]", help="Only these; repeatable."
)
@_writing
def reset(
    group: str,
    to_earliest: bool,
    to_latest: bool,
    to_time: str | None,
    to_offset: int | None,
    shift_by: int | None,
    topics: tuple[str, ...],
    connect: str,
    bootstrap: str,
    as_json: bool,
    undo: Path | None,
    force: bool,
    also_kafka: bool,
    execute: bool,
) -> None:
    """Set the offsets of GROUP to a place in the logs.

    Of all its topics, or only of some.
    An offset outside of a log becomes the log's start or end. With --zookeeper the offsets in
    ZooKeeper are set; without it those of a group that the brokers coordinate. A group must have no
    members. With --force a group in ZooKeeper may have some: they finish the current batch without
    committing it, then continue at the new offsets.

    Example: zkgroup offsets reset billing --to-earliest --bootstrap-servers kafka1:9092
    """
    chosen = [value for value in (to_time, to_offset, shift_by) if value is not None]
    if len(chosen) + to_earliest + to_latest != 1:
        raise click.UsageError(
            "give one of --to-earliest, --to-latest, --to-time, --to-offset, --shift-by"
        )
    at_ms = None if to_time is None else _time_ms(to_time)
    with found_group(connect, bootstrap, group, may_be_new=True) as live:
        kept = live.kept()
        if not kept.members and not kept.committed:
            say(f"Group {group} has no offsets and no members yet", err=True)
        partitions = _chosen(kept, topics)
        committed = kept.committed
        if to_offset is not None:
            asked = dict.fromkeys(partitions, to_offset)
        elif shift_by is not None:
            asked = shifted(shift_by, {p: committed.get(p) for p in partitions})
            left = [p for p in partitions if p not in asked]
            if left:
                few = first_few(left, 3, kind="partition")
                say(f"Not shifted, as the group has no valid offset there: {few}", err=True)
        elif at_ms is not None:
            asked = live.ends.at_or_end(partitions, at_ms)
        else:
            spans = live.ends.spans(partitions)
            asked = {p: s.start if to_earliest else s.end for p, s in spans.items()}
        _set(
            live,
            asked,
            execute=execute,
            force=force,
            undo=undo,
            as_json=as_json,
            also_kafka=also_kafka,
        )


def _found(live: LiveOrBrokered, *, in_kafka: bool) -> Mapping[TopicPartition, int | None]:
    if not in_kafka or not isinstance(live, LiveGroup):
        return live.kept().committed
    side = live.in_kafka(None)
    if side.untold:
        raise ServerError.of("kafka_offsets_unknown", reason=side.untold)
    return {p: stored.offset for p, stored in side.stored.items()}


def _chosen(kept: KeptOffsets, topics: tuple[str, ...]) -> list[TopicPartition]:
    """All partitions of the topics named, or of all that the group reads or has read."""
    if not topics:
        named: Mapping[str, set[int]] = {topic: set() for topic in kept.read}
    else:
        named = _named(topics)
    found = []
    for topic, numbers in sorted(named.items()):
        if not topics and not kept.topics.get(topic):
            continue  # read once, deleted since
        present = _check_there(kept, topic, numbers)
        found += [TopicPartition(topic, n) for n in sorted(numbers or present)]
    if not found:
        raise OptionError.of("no_topic_of_group", group=kept.group)
    return found


def _check_there(kept: KeptOffsets, topic: str, numbers: Collection[int]) -> tuple[int, ...]:
    """All partitions of a topic that has those numbers."""
    present = kept.topics.get(topic)
    if not present:
        near = similar_names(topic, kept.topics)
        raise OptionError.of("no_such_topic", topic=topic, similar=near, topics=listed(kept.topics))
    absent = sorted(set(numbers) - set(present))
    if absent:
        raise OptionError.of(
            "no_such_partition",
            topic=topic,
            number=absent[0],
            count=len(present),
            first=min(present),
            last=max(present),
        )
    return present


def _named(topics: Iterable[str]) -> dict[str, set[int]]:
    """An empty set is the whole topic, also if some of its partitions are named as well."""
    found: dict[str, set[int]] = {}
    for topic, numbers in map(_topic, topics):
        before = found.get(topic, numbers)
        found[topic] = before | numbers if before and numbers else set()
    return found


def _topic(text: str) -> tuple[str, set[int]]:
    match = _TOPIC.fullmatch(text)
    if match is None:
        raise OptionError.of("bad_topic_argument", value=text)
    return match[1], {int(number) for number in (match[2] or "").split(",") if number}


def _time_ms(text: str) -> int:
    """Milliseconds since 1970. A time without a zone means another one on each machine."""
    if text.isascii() and text.isdecimal():
        return _number_ms(text)
    # Python 3.10 does not know the Z.
    iso = text[:-1] + "+00:00" if text.endswith("Z") else text
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        raise OptionError.of("bad_time", value=text) from None
    if at.tzinfo is None:
        raise OptionError.of("time_without_zone", value=text)
    at_ms = round(at.timestamp() * 1000)
    if at_ms < 0:
        # -1 and -2 would mean other things to brokers.
        raise OptionError.of("time_before_1970", value=text)
    return at_ms


def _number_ms(text: str) -> int:
    # As a string first: int() refuses thousands of digits.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(_MS_MAX)) or int(digits) > _MS_MAX:
        raise OptionError.of("time_too_late", value=cut(text))
    if int(digits) < _MS_MIN:
        raise OptionError.of("time_in_seconds", value=cut(text))
    return int(digits)


def _set(
    live: LiveOrBrokered,
    asked: Mapping[TopicPartition, int],
    *,
    execute: bool,
    force: bool,
    undo: Path | None,
    as_json: bool,
    also_kafka: bool,
) -> None:
    kept = live.kept()
    wanted = moves(asked, kept.committed, live.ends.spans(sorted(asked)))
    side = live.in_kafka(sorted(asked)) if isinstance(live, LiveGroup) else None
    copies = {} if side is None else side.copies(wanted, also=also_kafka)
    if not as_json:
        console().print(moves_table(live.group, wanted, {} if side is None else side.stored))
    left_out = "" if side is None else side.left_out(wanted, copies)
    if left_out:
        say(left_out, err=True)
    if execute:
        live.refuse_members(kept.members, force=force)
        if side is not None and copies:
            side.refuse_live_group()
        back = save_undo(live.group, wanted, undo)
        try:
            live.write(wanted, whatever_is_there=force)
            if side is not None and copies:
                side.write(copies)
        except BaseException:
            # Some may be set: writes are not one transaction, and an answer may be lost.
            say(f"Not all offsets were set. {back}", err=True)
            raise
        say(f"{outcome(wanted, len(copies))}. {back}", err=True)
    else:
        say("Nothing was changed: give --execute to set them", err=True)
    if as_json:
        click.echo(json.dumps([_value(move) for move in wanted], indent=1))


def _value(move: Move) -> dict[str, Any]:
    return {
        "topic": move.partition.topic,
        "partition": move.partition.partition,
        "before": move.before,
        "after": move.after,
        "note": move.note,
    }
