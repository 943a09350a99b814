"""`zkgroup peek`: records of a topic, decoded."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pyspark_zkgroup.cli.cells import add_row, say
from pyspark_zkgroup.cli.reach import access_given, bootstrap_option, config_option, registry_option
from pyspark_zkgroup.cli.schema import newest_of, registry_given
from pyspark_zkgroup.cli.strict_json import no_constant
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.listing import similar_names
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.options import Options
    from pyspark_zkgroup.planning.cluster_view import ClusterView

_PAUSE_S = 0.5
_COUNT = 10
_DIGITS_MAX = 19
# C1, what changes direction, and halves of pairs. JSON escapes the others itself.
_UNSHOWN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_DESCRIBED = {"avro": "value.avro.schema", "protobuf": "value.protobuf.descriptor"}
"""Formats of values with a schema, and the option for it."""


@dataclass(frozen=True, slots=True)
class Record:
    partition: int
    offset: int
    time: str
    key: str | None
    value: Any
    bad: str | None


@click.command("peek")
@click.argument("topic")
@bootstrap_option
@config_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["string", "json", "avro", "protobuf"]),
    default="string",
    show_default=True,
    help="Format of the values.",
)
@click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the Avro schema or the Protobuf descriptor for values that carry no schema id.",
)
@click.option("--message", help="Name of the Protobuf message of the values.")
@registry_option
@click.option(
    "--subject", help="Subject whose newest schema gives the columns.  [default: TOPIC-value]"
)
@click.option(
    "--from",
    "begin",
    metavar="WHERE",
    help="earliest, latest, an offset, or a time such as 2024-07-01T12:00Z.  [default: earliest; "
    "with --follow latest]",
)
@click.option("--count", type=click.IntRange(1), help=f"How many records.  [default: {_COUNT}]")
@click.option("--follow", is_flag=True, help="Print new records until Ctrl-C, as lines of JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each record.")
def peek(
    topic: str,
    bootstrap: str,
    form: str,
    schema_file: Path | None,
    message: str | None,
    registry: str,
    subject: str | None,
    begin: str | None,
    count: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Print records of TOPIC, decoded. No group is joined and nothing is committed.

    Example: zkgroup peek orders --bootstrap-servers kafka1:9092 --format json --count 3
    """
    if not bootstrap.strip():
        raise click.UsageError("give --bootstrap-servers (or set ZKGROUP_BOOTSTRAP_SERVERS)")
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "failOnDataLoss": "false"}
    if form in _DESCRIBED:
        given["value.format"] = form
        if message is not None:
            given["value.protobuf.message"] = message
        if schema_file is not None:
            given[_DESCRIBED[form]] = str(schema_file)
        else:
            access = registry_given(registry)
            given["schema.registry.url"] = ",".join(access.urls)
    reader = _Reader(given, topic, form, registry, subject or f"{topic}-value")
    where = begin or ("latest" if follow else "earliest")
    limit = count or (None if follow else _COUNT)
    try:
        _show(islice(reader.records(where, follow=follow), limit), as_json=as_json or follow)
    except KeyboardInterrupt:
        return


@dataclass(frozen=True, slots=True)
class _Reader:
    given: Mapping[str, str]
    topic: str
    form: str
    registry: str
    subject: str

    def records(self, where: str, *, follow: bool) -> Iterator[Record]:
        from pyspark_zkgroup.planning.cluster_view import ClusterView

        options = self._options({})
        view = ClusterView(options)
        try:
            topics = view.partitions()
            numbers = topics.get(self.topic, ())
            if not numbers:
                near = similar_names(self.topic, topics)
                raise OptionError.of("no_topic_to_peek", topic=self.topic, similar=near)
            partitions = [TopicPartition(self.topic, number) for number in numbers]
            start = _start(where, view, partitions)
            while True:
                ends = view.latest(partitions)
                if any(start[one] < ends[one] for one in partitions):
                    yield from self._between(start, ends)
                if not follow:
                    return
                start = {one: max(start[one], ends[one]) for one in partitions}
                time.sleep(_PAUSE_S)
        finally:
            view.close()

    def _between(
        self, start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> Iterator[Record]:
        from pyspark_zkgroup.planning.batch_read import batch_tasks
        from pyspark_zkgroup.schema import COLUMNS, CORRUPT
        from pyspark_zkgroup.tasks.reading import read

        ends = {one: max(end, start[one]) for one, end in ends.items()}
        options = self._options(
            {"startingOffsets": self._json(start), "endingOffsets": self._json(ends)}
        )
        columns = (*options.columns.default, CORRUPT) if self.form in _DESCRIBED else COLUMNS
        shape = options.columns.shape(columns)
        found = batch_tasks(options)
        for task in found.tasks:
            for batch in read(task, found.settings, shape):
                names = batch.schema.names
                for row in range(batch.num_rows):
                    yield self._record({name: batch.column(name)[row] for name in names})

    def _json(self, offsets: Mapping[TopicPartition, int]) -> str:
        return json.dumps({self.topic: {str(one.partition): at for one, at in offsets.items()}})

    def _record(self, row: Mapping[str, Any]) -> Record:
        value, bad = _plain(row["value"]), None
        if self.form in _DESCRIBED:
            corrupt = row["corrupt"].as_py()
            bad = None if corrupt is None else str(corrupt["reason"])
        elif self.form == "json" and value is not None:
            try:
                value = json.loads(value, parse_constant=no_constant)
            except (ValueError, RecursionError):
                bad = "value: not JSON"
        return Record(
            row["partition"].as_py(),
            row["offset"].as_py(),
            _time(row["timestamp"]),
            _plain(row["key"]),
            value,
            bad,
        )

    def _options(self, offsets: Mapping[str, str]) -> Options:
        from pyspark_zkgroup.options import parse

        options = parse({**self.given, **offsets}, "batch")
        fetch = replace(options.fetch, security=access_given().kafka)
        columns = options.columns
        if columns.described and columns.described[0].schema is None:
            access = registry_given(self.registry)
            schema = newest_of(access, self.subject).schema
            described = replace(columns.described[0], registry=access, schema=schema)
            columns = replace(columns, described=(described,))
        return replace(options, fetch=fetch, columns=columns)


def _start(
    where: str, view: ClusterView, partitions: list[TopicPartition]
) -> Mapping[TopicPartition, int]:
    """Within what the logs hold."""
    first, last = view.earliest(partitions), view.latest(partitions)
    if where == "earliest":
        return first
    if where == "latest":
        return last
    if where.isascii() and where.isdecimal():
        # int() refuses thousands of digits, and no offset has more than 19.
        offset = int(where) if len(where) <= _DIGITS_MAX else 10**_DIGITS_MAX
        return {one: min(max(offset, first[one]), last[one]) for one in partitions}
    try:
        at = datetime.fromisoformat(where.replace("Z", "+00:00"))
    except ValueError:
        raise OptionError.of("bad_place_to_peek", value=where) from None
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    # Below 0 are other things to brokers: -1 is the end.
    at_ms = max(0, int(at.timestamp() * 1000))
    found = view.at_times(dict.fromkeys(partitions, at_ms))
    return {**last, **{one: first for one, first in found.items() if first is not None}}


def _show(records: Iterator[Record], *, as_json: bool) -> None:
    if as_json:
        for one in records:
            # What is there by now is shown, also where the output goes to another program.
            click.echo(_json(asdict(one)))
        return
    table = Table()
    for name in ("partition", "offset"):
        table.add_column(name, justify="right")
    for name in ("time", "key", "value"):
        table.add_column(name, overflow="fold")
    for one in records:
        value = one.value if isinstance(one.value, str) else _text(one.value)
        shown = value if one.bad is None else f"bad: {one.bad}"
        add_row(table, str(one.partition), str(one.offset), one.time, one.key or "", shown)
    if not table.row_count:
        say("No records")
        return
    console().print(table)


def _text(value: Any) -> str:
    return "" if value is None else _json(value)


def _json(value: Any) -> str:
    """What JSON has no number for is text, as Spark writes it. Characters that control a terminal,
    or have no bytes, are escaped.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, default=str)
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def _plain(scalar: Any) -> Any:
    """Bytes as text; Python does not know each value, such as the year 10000."""
    try:
        found = scalar.as_py()
    except (ValueError, OverflowError):
        return f"a {scalar.type} that cannot be shown"
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


def _time(scalar: Any) -> str:
    found = _plain(scalar)
    return found.isoformat() if isinstance(found, datetime) else str(found)
