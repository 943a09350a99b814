"""`zkgroup groups`: the groups in ZooKeeper and those that the brokers coordinate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import click
from rich.table import Table
from rich.text import Text

from pyspark_zkgroup.cli.brokered_live import not_described
from pyspark_zkgroup.cli.cells import add_row, say, table_title
from pyspark_zkgroup.cli.reach import (
    LogEnds,
    access_given,
    check_places,
    json_option,
    place_options,
    store_of,
)
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import ServerError, ZkgroupError
from pyspark_zkgroup.inspect.summary import GroupSummary, lag_of, live_first, of_brokered, of_nodes
from pyspark_zkgroup.listing import counted


@click.command("groups")
@place_options
@json_option
def groups(connect: str, bootstrap: str, as_json: bool) -> None:
    """List groups, live ones first, with their lag.

    Those in ZooKeeper (--zookeeper), and those that brokers coordinate (--bootstrap-servers).

    Partitions that members own are counted separately from those that are stuck: owned by a
    process that is no longer a member.

    Example: zkgroup groups --bootstrap-servers kafka1:9092
    """
    check_places(connect, bootstrap)
    seen = _seen(connect, bootstrap)
    rows = live_first(seen.rows)
    for trouble in seen.troubles:
        say(trouble, err=True)
    if as_json:
        click.echo(json.dumps([_value(row) for row in rows], indent=1))
        return
    if not rows and not seen.troubles:
        places = [f"in ZooKeeper at {connect}"] if connect.strip() else []
        places += [f"by the brokers at {bootstrap}"] if bootstrap.strip() else []
        say(
            f"No group was found {' or '.join(places)}. Check --bootstrap-servers, and --zookeeper "
            "with its chroot"
        )
        return
    table = Table(title=table_title(counted(len(rows), "group")))
    table.add_column("group", overflow="fold")
    table.add_column("protocol")
    for title in ("members", "owned", "stuck", "partitions", "lag"):
        table.add_column(title, justify="right")
    table.add_column("topics", overflow="fold")
    for row in rows:
        stuck = Text(str(row.stuck), style="red" if row.stuck else "")
        counts = (str(row.members), _number(row.owned), stuck, str(len(row.committed)))
        add_row(table, row.group, row.protocol, *counts, _number(row.lag), ", ".join(row.topics))
    console().print(table)


@dataclass(frozen=True)
class _Seen:
    rows: tuple[GroupSummary, ...]
    troubles: tuple[str, ...]


def _seen(connect: str, bootstrap: str) -> _Seen:
    """Groups of one place are shown as well where the other one does not answer."""
    from pyspark_zkgroup.inspect.group_reader import read_brokers, read_group, read_groups

    rows: list[GroupSummary] = []
    registered: tuple[str, ...] = ()
    if connect.strip():
        with store_of(connect) as store:
            facts = [read_group(store, name, {}) for name in read_groups(store)]
            rows += [of_nodes(one) for one in facts if one.is_there]
            if not bootstrap.strip():
                registered = read_brokers(store, access_given().kafka.protocol)
    troubles: list[str] = []
    untold: list[ZkgroupError] = []
    with closing(LogEnds(bootstrap, registered)) as brokers:
        if brokers.are_known:
            try:
                rows += _brokered(brokers, {row.group: row.members for row in rows}, untold)
                rows = _with_lag(brokers, rows)
            except ZkgroupError as error:
                if not connect.strip():
                    raise
                troubles.append(f"Groups of the brokers and lags are not shown: {error}")
    troubles += [f"A group is not shown: {error}" for error in untold]
    return _Seen(tuple(rows), tuple(troubles))


def _brokered(
    brokers: LogEnds, in_zookeeper: Mapping[str, int], untold: list[ZkgroupError]
) -> Iterator[GroupSummary]:
    """Without members, one that ZooKeeper has as well is the copy of its offsets. `untold` gets why
    a group cannot be shown: one that may not be read does not hide the others.
    """
    for group in brokers.groups(None):
        try:
            if group.trouble:
                raise not_described(group)
            if group.members or group.group not in in_zookeeper:
                yield of_brokered(group, brokers.stored(group.group, None))
        except ServerError as error:
            untold.append(error)


def _with_lag(brokers: LogEnds, rows: Iterable[GroupSummary]) -> list[GroupSummary]:
    every = list(rows)
    wanted = {p for row in every for p, at in row.committed.items() if at is not None}
    ends = brokers.read(sorted(wanted))
    return [replace(row, lag=lag_of(row, ends)) for row in every]


def _value(row: GroupSummary) -> dict[str, object]:
    return {
        "group": row.group,
        "protocol": row.protocol,
        "members": row.members,
        "owned": row.owned,
        "stuck": row.stuck,
        "partitions": len(row.committed),
        "lag": row.lag,
        "topics": list(row.topics),
    }


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
