"""`zkgroup members`: who is in a group, and taking one out: by its own doing, or by force."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pyspark_zkgroup.cli.asking import (
    Asking,
    Outcome,
    chosen,
    outcome_values,
    refuse_others,
    status_of,
)
from pyspark_zkgroup.cli.brokered_asking import BrokeredAsking
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.cells import add_row, say, table_title
from pyspark_zkgroup.cli.completion import complete_group, complete_member
from pyspark_zkgroup.cli.found import asking_members, found_group, store_of_members
from pyspark_zkgroup.cli.reach import (
    facts_of,
    json_option,
    place_options,
)
from pyspark_zkgroup.cli.stop import timeout_option
from pyspark_zkgroup.cli.wide import console
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.noted_requests import NotedRequest
from pyspark_zkgroup.group.ops import Done
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.requests import Request
from pyspark_zkgroup.inspect.age import age
from pyspark_zkgroup.inspect.eviction import Belongings, deletions, has_moved, why_not
from pyspark_zkgroup.inspect.report import report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.listing import counted

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store

_group = click.argument("group", shell_complete=complete_group)
_member = click.argument("member", shell_complete=complete_member)


@click.group("members")
def members() -> None:
    """List, drain, resume and evict members of a group."""


@members.command("list")
@_group
@place_options
@json_option
def list_(group: str, connect: str, bootstrap: str, as_json: bool) -> None:
    """List the members of GROUP.

    Also those that were drained and stay outside.

    Example: zkgroup members list billing --bootstrap-servers kafka1:9092
    """
    with found_group(connect, bootstrap, group) as live:
        if isinstance(live, BrokeredLive):
            rows = _brokered_rows(live)
        else:
            rows = _rows(live.store, report(live.facts(), {}))
    if as_json:
        click.echo(json.dumps({"group": group, "members": rows}, indent=1))
        return
    table = Table(title=table_title(f"group {group}: {counted(len(rows), 'member')}"))
    is_brokered = isinstance(live, BrokeredLive)
    titles = ("client", "host") if is_brokered else ("state", "since", "session")
    for title in ("member", "kind", *titles, "asked"):
        table.add_column(title, overflow="fold")
    table.add_column("owns", justify="right")
    now_ms = time.time() * 1000
    for row in rows:
        cells = (row["client"], row["host"]) if is_brokered else _standing(row, now_ms)
        asked = row["request"]
        said = "" if asked is None else f"{asked['kind']} by {asked['by']}"
        add_row(table, row["consumer"], row["kind"], *cells, said, str(row["owns"]))
    console().print(table)


def _standing(row: Mapping[str, Any], now_ms: float) -> tuple[str, ...]:
    since = "" if row["since_ms"] is None else age(now_ms - row["since_ms"])
    return (row["state"], since, row["session"])


def _brokered_rows(live: BrokeredLive) -> list[dict[str, Any]]:
    seen = live.look()
    try:
        requests = BrokeredAsking(live).requests()
    except ServerError as error:
        say(f"What members were asked is not known: {error}", err=True)
        requests = {}
    rows: list[dict[str, Any]] = [
        {
            "consumer": member.consumer,
            "kind": member.kind,
            "state": "asked" if member.consumer in requests else "member",
            "client": member.client,
            "host": member.host.lstrip("/"),
            "owns": member.owns,
            "static": member.static,
            "request": _asked(requests.get(member.consumer)),
        }
        for member in seen.members
    ]
    present = {member.consumer for member in seen.members}
    rows += [
        {
            "consumer": member,
            "kind": "zkgroup",
            "state": "drained",
            "client": "",
            "host": "",
            "owns": 0,
            "static": None,
            "request": _asked(request),
        }
        for member, request in requests.items()
        if member not in present and request.kind == "drain"
    ]
    return rows


def _asked(request: Request | NotedRequest | None) -> dict[str, Any] | None:
    if request is None:
        return None
    return {"kind": request.kind, "by": request.by, "at_ms": request.at_ms}


@members.command("drain")
@_group
@_member
@timeout_option
@place_options
@json_option
def drain(
    group: str, member: str, timeout_s: float, connect: str, bootstrap: str, as_json: bool
) -> None:
    """Make MEMBER commit, leave GROUP and stay outside.

    It finishes its batch first; other members take over its partitions.

    Its process keeps running: stop it, or let it join again with `zkgroup members resume`. Exit
    status 0 when it has left, 4 when it has not left yet: then the request remains.

    Example: zkgroup members drain billing vm1-7f3a --zookeeper zk1:2181/kafka
    """
    with asking_members(connect, bootstrap, group) as asking:
        seen = asking.look(timeout_s)
        wanted = chosen(seen.report, [member], seen.outside)
        refuse_others(seen.report, wanted)
        # Nothing of one whose request was withdrawn just now: it is about to join again.
        outcomes = [
            Outcome(consumer, "drained", f"outside of the group already: {asked}")
            for consumer, asked in seen.outside.items()
            if consumer in wanted and asked
        ]
        if not outcomes:
            asking.send("drain", wanted)
            outcomes = asking.wait("drain", wanted, timeout_s)
    _say(outcomes, as_json)
    raise SystemExit(status_of(outcomes))


@members.command("resume")
@_group
@_member
@place_options
@json_option
def resume(group: str, member: str, connect: str, bootstrap: str, as_json: bool) -> None:
    """Withdraw a request: MEMBER joins GROUP again.

    Example: zkgroup members resume billing vm1-7f3a --zookeeper zk1:2181/kafka
    """
    with asking_members(connect, bootstrap, group) as asking:
        seen = asking.look()
        (consumer,) = chosen(seen.report, [member], seen.asked)
        withdrawn = asking.resume(consumer)
    text = "it joins at its next boundary" if withdrawn else "nothing was asked of it"
    _say([Outcome(consumer, "withdrawn" if withdrawn else "untouched", text)], as_json)


@members.command("evict")
@_group
@_member
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required with --json.")
@timeout_option
@place_options
@json_option
def evict(
    group: str,
    member: str,
    yes: bool,
    timeout_s: float,
    connect: str,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Remove a stuck MEMBER from GROUP by force.

    Other members then read its partitions.
    The command first requests a drain, and waits for --timeout. If the member has done nothing by
    then, its nodes are deleted: its current batch is read twice, as after a crash, and it does not
    join again by itself. A working member is left alone. Exit status 0 when it was removed, 3 when
    it was left alone. For groups in ZooKeeper.

    Example: zkgroup members evict billing vm1-7f3a --zookeeper zk1:2181/kafka
    """
    from pyspark_zkgroup.inspect.member_nodes import read_belongings

    with store_of_members(connect, bootstrap, group) as store:
        facts = facts_of(store, group)
        seen = report(facts, {})
        owners = {consumer_of(o.data.decode("utf-8", "replace")) for o in facts.owners.values()}
        (consumer,) = chosen(seen, [member], owners)
        before = read_belongings(store, facts, consumer)
        reason = why_not(before)
        if reason:
            raise OptionError.of("not_evictable", reason=reason)
        paths = [path for path, _ in deletions(before, GroupPaths(group))]
        if not as_json:
            _show(before, paths)
        if not yes and (as_json or not click.confirm("Evict it?")):
            say("Nothing was changed: give --yes to evict it", err=True)
            raise SystemExit(ALONE)
        outcome = _evict(store, before, group, timeout_s)
    if as_json:
        value = {"deleted": paths if outcome.state == "evicted" else []}
        click.echo(json.dumps({**outcome_values([outcome])[0], **value}, indent=1))
    else:
        say(f"{outcome.consumer}: {outcome.text}")
    raise SystemExit(ALONE if outcome.state == "left alone" else 0)


ALONE = 3
"""Exit status where a member was not evicted."""


def _evict(store: Store, before: Belongings, group: str, timeout_s: float) -> Outcome:
    from pyspark_zkgroup.inspect.group_reader import read_group
    from pyspark_zkgroup.inspect.member_nodes import read_belongings

    consumer = before.consumer
    asking = Asking(store, group)
    if before.registration is not None and before.registration.session:
        # A member that still works does it by itself, and nothing is read twice. The request
        # stays: a member that wakes up later finds it, and does not take its share back.
        asking.send("drain", [consumer])
        (outcome,) = asking.wait("drain", [consumer], timeout_s)
        if outcome.is_done:
            return outcome
        if outcome.state != "pending":
            return Outcome(consumer, "left alone", outcome.text)
    now = read_belongings(store, read_group(store, group, {}), consumer)
    moved = has_moved(before, now)
    if moved is not None:
        asking.resume(consumer)
        return Outcome(
            consumer,
            "left alone",
            f"it works: {moved} was committed or released meanwhile. Use `zkgroup members drain` "
            "with a longer --timeout",
        )
    wanted = deletions(now, GroupPaths(group))
    outcomes = store.commit([transaction for _, transaction in wanted])
    left = [p for (p, _), o in zip(wanted, outcomes, strict=True) if not isinstance(o, Done)]
    if left:
        return Outcome(
            consumer, "left alone", f"{left[0]} and {len(left) - 1} more changed: look again"
        )
    return Outcome(consumer, "evicted", f"{len(wanted)} nodes were deleted")


def _rows(store: Store, seen: GroupReport) -> list[dict[str, Any]]:
    from pyspark_zkgroup.inspect.member_nodes import read_asked, read_standings

    of = {member.consumer: member for member in seen.members}
    standings = read_standings(store, seen.group, sorted({*of, *read_asked(store, seen.group)}))
    rows = []
    for consumer, at in standings.items():
        member = of.get(consumer)
        if member is None and not at.rests:
            continue  # it has ended since it was asked
        asked = at.request
        rows.append(
            {
                "consumer": consumer,
                "kind": "zkgroup" if member is None else member.kind,
                "state": "drained" if member is None else "asked" if asked else "member",
                "session": f"{at.rests if member is None else member.session:#x}",
                "since_ms": None if member is None else member.since_ms,
                "owns": 0 if member is None else member.owns,
                "static": None if member is None else member.static,
                "request": _asked(asked),
            }
        )
    return rows


def _show(it: Belongings, paths: list[str]) -> None:
    table = Table(title=table_title(f"{it.consumer}: {len(paths)} nodes would be deleted"))
    table.add_column("node", overflow="fold")
    table.add_column("session")
    for path in paths:
        add_row(table, path, "")
    console().print(table)
    sessions = ", ".join(f"{session:#x}" for session in sorted(it.sessions)) or "none that lives"
    say(f"session: {sessions}. Its current batch will be read twice.", err=True)


def _say(outcomes: list[Outcome], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(outcome_values(outcomes), indent=1))
    else:
        for one in outcomes:
            say(f"{one.consumer}: {one.text}")
