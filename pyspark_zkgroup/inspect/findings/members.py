"""Members that cannot be told what to read, or find nothing; and groups without any."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.snapshot import Snapshot, topics_of
from pyspark_zkgroup.group.spare import why_spare
from pyspark_zkgroup.inspect.findings.case import (
    Case,
    GroupFinding,
    has_nothing,
    named,
    partitions_of,
)
from pyspark_zkgroup.inspect.report import snapshot_of
from pyspark_zkgroup.inspect.rows import MemberRow
from pyspark_zkgroup.inspect.wanted import published, rule_of
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.jvm.registration import Registration


def mixed(case: Case) -> Iterator[GroupFinding]:
    seen = case.last.seen
    if seen.protocol != "both":
        return
    told = case.last.facts.told
    alone = [m.consumer for m in seen.members if m.consumer not in told]
    yield GroupFinding(
        "members",
        f"[ZKG-205] {named(alone)} decide for themselves, and {named(sorted(told))} are told by a "
        "coordinator what to read: it tells nobody anything as long as there are both",
        "Stop those of one kind: all members of a group need the same `protocol`",
    )


def divided(case: Case) -> Iterator[GroupFinding]:
    """Members that assign differently: what each claims is right by its own rule."""
    seen, snapshot = case.last.seen, snapshot_of(case.last.facts)
    rules = published(snapshot)
    if len(rules) < 2 or seen.protocol == "both":
        return
    by_rule: dict[tuple[str, str], list[str]] = {}
    for consumer in sorted(snapshot.members, key=compare_key):
        if snapshot.members[consumer].is_zkgroup:
            by_rule.setdefault(rule_of(snapshot.members[consumer]), []).append(consumer)
    said = "; ".join(f"{named(who)} by {_rule(rule)}" for rule, who in by_rule.items())
    (most, _), (_, second) = rules.most_common(2)
    odd = [c for rule, who in by_rule.items() for c in who if rule != most]
    is_plain = rules[most] > second
    free = [row for row in seen.partitions if row.state == "free"]
    unread = named(row.partition for row in free) if free else "others"
    yield GroupFinding(
        "assignment",
        f"[ZKG-206] members of the group assign by different rules: {said}. Some partitions two of "
        f"them want, {unread} nobody reads",
        "All need the same partition.assignment.strategy, and for roundrobin the same "
        "partition.assignment.order: "
        + (
            f"set {_options(most)} in {named(odd)}, and start it again"
            if is_plain
            else "set them alike"
        ),
        partitions=partitions_of(free),
    )


def _options(rule: tuple[str, str]) -> str:
    strategy, order = rule
    said = f"partition.assignment.strategy={strategy}"
    return f"{said} and partition.assignment.order={order}" if strategy == "roundrobin" else said


def _rule(rule: tuple[str, str]) -> str:
    strategy, order = rule
    return f"{strategy} ({order} order)" if strategy == "roundrobin" else strategy


def headless(case: Case) -> Iterator[GroupFinding]:
    if not case.is_headless:
        return
    seen = case.last.seen
    untold = [m.consumer for m in seen.members if not m.owns]
    unread = [row for row in seen.partitions if row.state in ("free", "stuck", "unread")]
    told = len(seen.members) - len(untold)
    consequence = f"{told} member{'s read' if told != 1 else ' reads'} on with what they hold"
    if untold:
        wait = "waits" if len(untold) == 1 else "wait"
        consequence += f"; {named(untold)} {wait} to be told what to read"
    if unread:
        consequence += f"; nobody reads {named(row.partition for row in unread)}"
    yield GroupFinding(
        "coordinator",
        f"[ZKG-207] nobody is in office as coordinator: {consequence}",
        "Start a candidate: `zkgroup coordinator`, better two of them on different machines, or a "
        "query with coordinator.candidate=true. The log of the last one says why it has ended",
        partitions=partitions_of(unread),
    )


def nobody(case: Case) -> Iterator[GroupFinding]:
    seen = case.last.seen
    if seen.members or not seen.lag:
        return
    yield GroupFinding(
        "members",
        f"[ZKG-208] the group has no member, and {seen.lag:,} records wait",
        "Mend first what else is found here, then start its queries. If they have ended by "
        "themselves, the last lines of their logs say why",
        is_ill=False,
    )


def idle(case: Case) -> Iterator[GroupFinding]:
    """Members that own nothing, and shall have nothing. Who shall have something waits, which is
    told of whom it waits for.
    """
    snapshot = snapshot_of(case.last.facts)
    rows = case.last.seen.partitions
    wanted = {consumer_of(row.wanted_by) for row in rows if row.wanted_by}
    undecided = {row.partition.topic for row in rows if row.undecided}
    for member in case.last.seen.members:
        if not has_nothing(member):
            continue
        if member.trouble is not None:
            path = case.paths.id(member.consumer)
            reason, remedy, is_ill = (
                f"its registration cannot be read ({member.trouble})",
                f"End the process that wrote {path}, or delete the node",
                True,
            )
        elif member.consumer in wanted or (case.is_headless and member.protocol != "zookeeper"):
            continue
        elif undecided.intersection(_topics(snapshot.members[member.consumer], snapshot)):
            continue  # Who shall have what is not known, and why is told elsewhere.
        else:
            reason, remedy, is_ill = _why_idle(member, snapshot)
        yield GroupFinding(
            "member", f"[ZKG-209] {member.consumer} owns nothing: {reason}", remedy, is_ill=is_ill
        )


def _why_idle(member: MemberRow, snapshot: Snapshot) -> tuple[str, str, bool]:
    registration = snapshot.members[member.consumer]
    present = [t for t in _topics(registration, snapshot) if snapshot.topics.get(t)]
    if not present:
        return _nothing_there(registration, snapshot)
    return (*why_spare(snapshot, registration), False)


def _topics(registration: Registration, snapshot: Snapshot) -> list[str]:
    hidden = () if registration.internal else patterns.INTERNAL_TOPICS
    return [t for t, _ in topics_of(registration.subscription, snapshot.topics, hidden)]


def _nothing_there(registration: Registration, snapshot: Snapshot) -> tuple[str, str, bool]:
    subscription = registration.subscription
    if subscription.is_wildcard:
        return (
            f"no topic fits its {subscription.pattern} {subscription.expression!r}",
            f"Mend subscribePattern of that query: there are {named(sorted(snapshot.topics))}",
            True,
        )
    names = [topic for topic, _ in subscription.entries]
    like = {n for name in names for n in get_close_matches(name, snapshot.topics, 1)}
    meant = f": did somebody mean {named(sorted(like))}?" if like else ""
    return (
        f"there is no topic {named(names)}, which it is subscribed to",
        f"Mend `subscribe` of that query, or make the topic{meant}",
        True,
    )
