"""What is wrong with a group that the brokers coordinate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, has_nothing, named
from pyspark_zkgroup.inspect.rows import MemberRow
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember

_STORM_MIN = 3
_COOPERATIVE = "cooperative-sticky"


def unreadable(case: Case) -> Iterator[GroupFinding]:
    for member in case.last.seen.members:
        if member.trouble is not None:
            yield GroupFinding(
                "member",
                f"The subscription of {_who(member)} cannot be read: {member.trouble}",
                "Find out what that client is: it does not use the protocol of Kafka's consumers",
            )


def without_partitions(case: Case) -> Iterator[GroupFinding]:
    group = case.last.seen.brokered
    if group is None or not group.shows_assignment:
        return
    for member in case.last.seen.members:
        if not has_nothing(member) or member.trouble is not None:
            continue
        is_ill, said = _why_idle(case, member)
        yield GroupFinding("member", *said, is_ill=is_ill)


def _why_idle(case: Case, member: MemberRow) -> tuple[bool, tuple[str, str]]:
    topics, names = case.last.facts.topics, tuple(member.subscription)
    there = [topic for topic in names if topic in topics]
    if names and not there:
        like = {n for name in names for n in get_close_matches(name, topics, 1)}
        return True, catalogue.finding(
            "ZKG-209",
            "unknown_topic",
            member=member.consumer,
            topics=named(names),
            similar=f" (similar names: {named(sorted(like))})" if like else "",
            client=_who(member),
        )
    if not names:
        return True, catalogue.finding(
            "ZKG-209", "no_pattern_match", member=member.consumer, pattern=member.pattern
        )
    number = sum(len(topics[topic]) for topic in there)
    readers = sum(bool({*m.subscription} & {*there}) for m in case.last.seen.members)
    return False, catalogue.finding(
        "ZKG-209",
        "too_many",
        member=member.consumer,
        readers=readers,
        partitions=counted(number, "partition"),
        topics=named(there),
        client=_who(member),
    )


def eager(case: Case) -> Iterator[GroupFinding]:
    """What else members offer is not told. A client that does not offer the group's assignor cannot
    join, so that mixed settings are seen in its log alone.
    """
    group = case.last.seen.brokered
    if group is None or group.kind != "classic" or len(group.members) < 2 or not group.assignor:
        return
    if group.assignor == _COOPERATIVE:
        return
    ours = sum(member.is_zkgroup for member in group.members)
    others = counted(len(group.members) - ours, "other client")
    mixed = f"{counted(ours, 'zkgroup member')} and {others}"
    who = mixed if 0 < ours < len(group.members) else f"all {len(group.members)} members"
    yield GroupFinding(
        "assignor",
        *catalogue.finding(
            "ZKG-216", "eager", assignor=group.assignor, members=who, cooperative=_COOPERATIVE
        ),
        is_ill=False,
    )


def storm(case: Case) -> Iterator[GroupFinding]:
    looks = case.brokered
    number = rebalances(looks)
    if not number or (number < _STORM_MIN and all(look.is_rebalancing for look in looks)):
        return
    seen = Counter(member.id for look in looks for member in look.members)
    clients = {member.id: _client(member) for look in looks for member in look.members}
    passing = Counter(clients[name] for name, n in seen.items() if n < len(looks))
    came = [
        f"{client} ({n} member {'id' if n == 1 else 'ids'})"
        for client, n in sorted(passing.items())
    ]
    moving = f"; members that came or went: {named(came)}" if came else ""
    facts = {"apart_s": case.apart_s, "moving": moving}
    if number < _STORM_MIN:
        times = {"times": counted(number, "time"), "group": case.last.seen.group}
        said = catalogue.finding("ZKG-217", "some", **facts, **times)
    else:
        said = catalogue.finding("ZKG-217", "storm", **facts, count=number)
    yield GroupFinding("rebalance", *said, is_ill=number >= _STORM_MIN)


def rebalances(looks: Sequence[BrokeredGroup]) -> int:
    """At least so many have begun between the looks. While a group rebalances, a member that comes
    and another that goes begin it again; several that only join, or only leave, may be one.
    """
    pairs = list(pairwise(looks))
    during = [(_ids(b), _ids(n)) for b, n in pairs if b.is_rebalancing and n.is_rebalancing]
    came = sum(bool(now - before) for before, now in during)
    left = sum(bool(before - now) for before, now in during)
    return sum(_has_begun(before, now) for before, now in pairs) + min(came, left)


def _ids(group: BrokeredGroup) -> set[str]:
    return {member.id for member in group.members} if group.epoch is None else set()


def _has_begun(before: BrokeredGroup, now: BrokeredGroup) -> bool:
    if before.epoch is not None and now.epoch is not None:
        return now.epoch > before.epoch
    if now.is_rebalancing and not before.is_rebalancing:
        return True
    if now.is_rebalancing or before.is_rebalancing:
        return False
    return _shares(before) != _shares(now)


def _shares(group: BrokeredGroup) -> set[tuple[str, frozenset[object]]]:
    return {(member.id, frozenset(member.assigned)) for member in group.members}


def unsettled(case: Case) -> Iterator[GroupFinding]:
    looks = case.brokered
    if len(looks) < 2 or not all(look.is_rebalancing for look in looks):
        return
    if rebalances(looks) >= _STORM_MIN:
        return
    state = looks[-1].state
    yield GroupFinding(
        "rebalance",
        *catalogue.finding("ZKG-218", "rebalancing", apart_s=case.apart_s, state=state),
        is_ill=False,
    )


def kept_classic(case: Case) -> Iterator[GroupFinding]:
    group = case.last.seen.brokered
    classic = [] if group is None else [m for m in group.members if m.is_classic]
    if not classic or group is None:
        return
    yield GroupFinding(
        "protocol",
        *catalogue.finding(
            "ZKG-219",
            "classic",
            members=named(_member(m) for m in classic),
            count=len(group.members),
        ),
        is_ill=False,
    )


def _who(member: MemberRow) -> str:
    return f"{member.client} at {member.host.lstrip('/')}"


def _member(member: BrokeredMember) -> str:
    return f"{member.id} ({_client(member)})"


def _client(member: BrokeredMember) -> str:
    return f"{member.client} at {member.host.lstrip('/')}"
