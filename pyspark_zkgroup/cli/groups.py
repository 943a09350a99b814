"""`zkgroup groups`: all groups of a ZooKeeper, with members, owned partitions and topics."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from pyspark_zkgroup.cli.cells import add_row, table_title
from pyspark_zkgroup.cli.counted import counted
from pyspark_zkgroup.cli.reach import json_option, store_of, zookeeper_option
from pyspark_zkgroup.inspect.report import stuck


@click.command("groups")
@zookeeper_option
@json_option
def groups(connect: str, as_json: bool) -> None:
    """List the groups that have members or offsets in this ZooKeeper.

    Of the partitions, those that members own are counted apart from those that are stuck: owned by
    somebody who is not registered.
    """
    from pyspark_zkgroup.inspect.group_reader import read_group, read_groups

    rows = []
    with store_of(connect) as store:
        for name in read_groups(store):
            facts = read_group(store, name, {})
            if facts.is_there:
                astray = stuck(facts)
                topics = sorted({p.topic for p in (*facts.offsets, *facts.owners)})
                rows.append(
                    {
                        "group": name,
                        "members": len(facts.ids),
                        "owned": len(facts.owners.keys() - astray),
                        "stuck": len(astray),
                        "partitions": len(facts.offsets.keys() | facts.owners.keys()),
                        "topics": topics,
                    }
                )
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    table = Table(title=table_title(counted(len(rows), "group")))
    table.add_column("group", overflow="fold")
    counts = ("members", "owned", "stuck", "partitions")
    for title in counts:
        table.add_column(title, justify="right")
    table.add_column("topics", overflow="fold")
    for row in rows:
        add_row(
            table,
            str(row["group"]),
            *(str(row[name]) for name in counts),
            ", ".join(row["topics"] if isinstance(row["topics"], list) else ()),
        )
    Console().print(table)
