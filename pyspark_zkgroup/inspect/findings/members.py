"""Members that receive no assignment or find nothing to read, and groups without members."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from pyspark_zkgroup import catalogue
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
        *catalogue.finding("ZKG-205", "mixed", alone=named(alone), coordinated=named(sorted(told))),
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
    found = {
        "rules": said,
        "unread": named(row.partition for row in free) if free else "others",
    }
    yield GroupFinding(
        "assignment",
        *(
            catalogue.finding("ZKG-206", "odd", **found, options=_options(most), members=named(odd))
            if is_plain
            else catalogue.finding("ZKG-206", "even", **found)
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
    consequence = (
        f"{told} member{'s continue' if told != 1 else ' continues'} with the partitions held"
    )
    if untold:
        wait = "waits" if len(untold) == 1 else "wait"
        consequence += f"; {named(untold)} {wait} for an assignment"
    if unread:
        consequence += f"; not read: {named(row.partition for row in unread)}"
    yield GroupFinding(
        "coordinator",
        *catalogue.finding("ZKG-207", "headless", consequence=consequence),
        partitions=partitions_of(unread),
    )


def nobody(case: Case) -> Iterator[GroupFinding]:
    seen = case.last.seen
    if seen.members or not seen.lag:
        return
    yield GroupFinding(
        "members",
        *catalogue.finding("ZKG-208", "empty", lag=seen.lag),
        is_ill=False,
    )


def idle(case: Case) -> Iterator[GroupFinding]:
    """Members that own nothing and are assigned nothing. A member that is assigned something waits,
    which the finding about the current owner reports.
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
            is_ill, said = (
                True,
                catalogue.finding(
                    "ZKG-209",
                    "unreadable",
                    member=member.consumer,
                    error=member.trouble,
                    path=path,
                ),
            )
        elif member.consumer in wanted or (case.is_headless and member.protocol != "zookeeper"):
            continue
        elif undecided.intersection(_topics(snapshot.members[member.consumer], snapshot)):
            continue  # The assignment is not known, and another finding says why.
        else:
            is_ill, said = _why_idle(member, snapshot)
        yield GroupFinding("member", *said, is_ill=is_ill)


def _why_idle(member: MemberRow, snapshot: Snapshot) -> tuple[bool, tuple[str, str]]:
    registration = snapshot.members[member.consumer]
    present = [t for t in _topics(registration, snapshot) if snapshot.topics.get(t)]
    if not present:
        return True, _nothing_there(member.consumer, registration, snapshot)
    reason, remedy = why_spare(snapshot, registration)
    return False, catalogue.finding(
        "ZKG-209", "spare", member=member.consumer, reason=reason, remedy=remedy
    )


def _topics(registration: Registration, snapshot: Snapshot) -> list[str]:
    hidden = () if registration.internal else patterns.INTERNAL_TOPICS
    return [t for t, _ in topics_of(registration.subscription, snapshot.topics, hidden)]


def _nothing_there(member: str, registration: Registration, snapshot: Snapshot) -> tuple[str, str]:
    subscription = registration.subscription
    if subscription.is_wildcard:
        return catalogue.finding(
            "ZKG-209",
            "no_match",
            member=member,
            kind=subscription.pattern,
            expression=subscription.expression,
            topics=named(sorted(snapshot.topics)),
        )
    names = [topic for topic, _ in subscription.entries]
    like = {n for name in names for n in get_close_matches(name, snapshot.topics, 1)}
    similar = f" (similar names: {named(sorted(like))})" if like else ""
    return catalogue.finding(
        "ZKG-209", "no_topic", member=member, topics=named(names), similar=similar
    )
