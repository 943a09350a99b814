"""The group at one instant: each member's registration, and the partitions of the topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pyspark_zkgroup.errors import BadZnodeError, SubscriptionError
from pyspark_zkgroup.group import assignors
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.patterns import Matcher
from pyspark_zkgroup.jvm.registration import Registration, Subscription, parse_registration
from pyspark_zkgroup.model import ThreadId, TopicPartition

Threads = dict[str, tuple[ThreadId, ...]]
GROUP_THREADS_MAX = 100_000
"""Limit on the threads of all members together. Each counts with its threads for one topic, the
one for which it has most."""
PLACES_MAX = 1_000_000
"""Limit on the threads of all distinct sets of readers; one thread is in many such sets."""
_KEPT = 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The group at one instant. `skipped` has each consumer id whose registration cannot be read,
    with the reason.

    A JVM member fails its whole rebalance on such a registration. This member ignores the
    registration: claims exclude each other all the same, and one bad node must not stop the group.
    `unsupported` are the skipped members whose pattern a JVM member may be able to read although
    this one cannot: what they own is unknown.
    """

    members: Mapping[str, Registration]
    topics: Mapping[str, tuple[int, ...]]
    skipped: Mapping[str, str] = field(default_factory=dict)
    unsupported: frozenset[str] = frozenset()

    @property
    def has_wildcards(self) -> bool:
        """Return whether the list of all topics matters, not only those that are named."""
        return any(member.subscription.is_wildcard for member in self.members.values())

    @property
    def is_balanced(self) -> bool:
        """Return whether equal shares apply: only when every member announces them.

        A JVM member, or a zkgroup member of an older release, computes its strategy regardless of
        the others.
        """
        return all(member.balanced for member in self.members.values())


def read_snapshot(
    group: str, ids: Mapping[str, bytes | None], topics: Mapping[str, tuple[int, ...]]
) -> Snapshot:
    """Build the snapshot from the contents of the nodes.

    A registration that cannot be read, or whose pattern is invalid or not supported, is skipped
    with its path and the reason.
    """
    path_of = GroupPaths(group).id
    members, skipped = read_registrations(path_of, ids)
    unsupported = frozenset(c for c in skipped if _has_unsupported_pattern(path_of(c), ids[c]))
    return Snapshot(members, topics, skipped, unsupported)


def read_registrations(
    path_of: Callable[[str], str], ids: Mapping[str, bytes | None]
) -> tuple[dict[str, Registration], dict[str, str]]:
    """Return the registrations that can be read, and for each of the others the reason."""
    members: dict[str, Registration] = {}
    skipped: dict[str, str] = {}
    for consumer, data in ids.items():
        found = _read_member(path_of(consumer), data)
        if isinstance(found, Registration):
            members[consumer] = found
        else:
            skipped[consumer] = found
    for consumer in _too_many(members):
        del members[consumer]
        skipped[consumer] = (
            f"{path_of(consumer)}: with the threads that it asks for, those of the group were more "
            f"than {GROUP_THREADS_MAX}; end the process that registered it, or give it fewer"
        )
    return members, skipped


def _too_many(members: Mapping[str, Registration]) -> list[str]:
    """Return the members to leave out, the largest first.

    So a member cannot push out others without being left out itself, and all members that read the
    same registrations leave out the same ones.
    """
    counts = {consumer: _most(member.subscription) for consumer, member in members.items()}
    total = sum(counts.values())
    beyond: list[str] = []
    for consumer in sorted(counts, key=lambda c: (-counts[c], c)):
        if total <= GROUP_THREADS_MAX:
            break
        beyond.append(consumer)
        total -= counts[consumer]
    return beyond


def _most(subscription: Subscription) -> int:
    return max((threads for _, threads in subscription.entries), default=0)


# Registrations do not change, and every look reads all of them.
@lru_cache(_KEPT)
def _read_member(path: str, data: bytes | None) -> Registration | str:
    try:
        registration = parse_registration(path, data)
        if registration.subscription.is_wildcard:
            patterns.compile_expression(registration.subscription.expression)
    except BadZnodeError as error:
        return f"{error}"
    except SubscriptionError as error:
        return f"{path}: {error}"
    return registration


@lru_cache(_KEPT)
def _has_unsupported_pattern(path: str, data: bytes | None) -> bool:
    try:
        subscription = parse_registration(path, data).subscription
    except BadZnodeError:
        return False
    return subscription.is_wildcard and patterns.is_unsupported(subscription.expression)


def expand(snapshot: Snapshot, exclude_internal: bool) -> Threads:
    """Return for each topic that has a reader its threads, in order."""
    return threads_by_topic(
        {consumer: member.subscription for consumer, member in snapshot.members.items()},
        snapshot.topics,
        patterns.INTERNAL_TOPICS if exclude_internal else frozenset(),
    )


def threads_by_topic(
    subscriptions: Mapping[str, Subscription], topics: Collection[str], hidden: Collection[str]
) -> Threads:
    """Return for each topic its threads. `hidden` topics match no list; a static subscription gives
    those topics of it that exist.
    """
    counts: dict[str, list[tuple[str, int]]] = {}
    matchers: dict[str, Matcher] = {}
    for consumer, subscription in subscriptions.items():
        for topic, count in topics_of(subscription, topics, hidden, matchers):
            if topic in topics:
                counts.setdefault(topic, []).append((consumer, count))
    return threads_of(counts)


def threads_of(counts: Mapping[str, Sequence[tuple[str, int]]]) -> Threads:
    """Return for each topic its threads in order, given each reader and its number of threads.

    Topics with the same readers share one tuple: with many topics that saves most of the work.
    """
    crowds = {topic: frozenset(takers) for topic, takers in counts.items()}
    most = _most_of_each(crowds.values())
    made: dict[str, list[ThreadId]] = {}
    order: dict[ThreadId, bytes] = {}
    for consumer, count in (taker for crowd in set(crowds.values()) for taker in crowd):
        threads = made.setdefault(consumer, [])
        new = [ThreadId(consumer, n) for n in range(len(threads), min(count, most))]
        threads += new
        order |= {thread: assignors.order_key(thread) for thread in new}
    known = {
        crowd: tuple(
            sorted((t for c, count in crowd for t in made[c][:count]), key=order.__getitem__)
        )
        for crowd in set(crowds.values())
    }
    return {topic: known[crowd] for topic, crowd in crowds.items()}


def _most_of_each(crowds: Collection[frozenset[tuple[str, int]]]) -> int:
    """Return the largest number of threads with which a member counts for one topic.

    Two registrations within their bounds can make as many sets of readers as there are topics,
    with all threads of the group in each. The bound then applies to all alike: members with few
    threads keep them.
    """
    distinct = set(crowds)
    counts = [count for crowd in distinct for _, count in crowd]
    low, high = 1, max(counts, default=1)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in counts) <= PLACES_MAX:
            low = middle
        else:
            high = middle - 1
    return low


def topics_of(
    subscription: Subscription,
    topics: Collection[str],
    hidden: Collection[str] = (),
    matchers: dict[str, Matcher] | None = None,
) -> list[tuple[str, int]]:
    """Return the topics of one member with its threads. `matchers` caches compiled expressions."""
    if not subscription.is_wildcard:
        return list(subscription.entries)
    ((expression, count),) = subscription.entries
    kept = {} if matchers is None else matchers
    if expression not in kept:
        kept[expression] = patterns.compile_expression(expression)
    wanted = subscription.pattern == "white_list"
    matches = kept[expression]
    return [(topic, count) for topic in topics if topic not in hidden and matches(topic) is wanted]


def partitions_of(
    subscription: Subscription,
    topics: Mapping[str, tuple[int, ...]],
    hidden: Collection[str] = (),
) -> list[TopicPartition]:
    """Return all partitions of a subscription, whichever member reads them."""
    named = topics_of(subscription, topics, hidden)
    return [TopicPartition(t, n) for t, _ in named for n in topics.get(t, ())]
