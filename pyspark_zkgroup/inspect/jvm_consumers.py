"""What a group of JVM consumers would own: their readings, their failures, their orders.

Every member reads the group and computes the assignment alone, then claims its own share. So does
this: one view per member, then the claims of all together. A registration that cannot be read fails
each of them, after it has released all it held: then no member owns anything.

The regular expressions are those of Java 17, the hash maps those of Scala 2.11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.errors import AssignmentError, SubscriptionError
from pyspark_zkgroup.group.assignors import Assignment, range_assignment, round_robin
from pyspark_zkgroup.group.snapshot import Threads, threads_of
from pyspark_zkgroup.inspect.jvm_version import JvmVersion
from pyspark_zkgroup.jvm import scala_order
from pyspark_zkgroup.jvm.java_json import (
    INT_MAX,
    INT_MIN,
    NotJsonError,
    parse_jackson,
    parse_scala,
    text_of,
)
from pyspark_zkgroup.jvm.patterns import Matcher, compile_expression, is_unsupported
from pyspark_zkgroup.model import ThreadId, TopicPartition

THREADS_MAX = 1_000_000
_NO_PATH = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]|//|^\.{0,2}$|/\.{0,2}$|^/"
)


@dataclass(frozen=True, slots=True)
class Imitation:
    """`failure`: why every member fails; `notes`: what befalls single members."""

    owners: Mapping[TopicPartition, ThreadId]
    failure: str | None = None
    notes: tuple[str, ...] = ()


class MemberFailsError(Exception):
    """A member's attempt to rebalance ends with an exception."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """What a reader takes from one registration."""

    pattern: str | None
    threads: Mapping[str, Any]


def imitate(
    version: JvmVersion,
    strategy: str,
    ids: Mapping[str, object],
    topics: Mapping[str, Sequence[int]],
    exclude_internal: bool,
) -> Imitation:
    """The owners once the group has settled.

    A registration is what the node holds (bytes or text), or the JSON value in it, already parsed.
    `strategy` is the configured one, so it may be one that only some versions know.
    """
    chosen = version.strategy(strategy)
    hidden = version.internal_topics if exclude_internal else frozenset()
    try:
        reading = _Reading.of(version, ids, topics, hidden)
        if chosen == "roundrobin":
            _check_preconditions(version, reading.threads)
    except MemberFailsError as error:
        return Imitation({}, f"every member fails to rebalance: {error}")
    return _claimed_by_all(version, chosen, reading, topics)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The group as all members read it. `topics_of`: per member, in the order of its map."""

    topics_of: Mapping[str, Sequence[str]]
    threads: Threads

    @classmethod
    def of(
        cls,
        version: JvmVersion,
        ids: Mapping[str, object],
        topics: Mapping[str, Sequence[int]],
        hidden: frozenset[str],
    ) -> _Reading:
        listed = scala_order.children(topics)
        matchers: dict[str, Matcher] = {}
        counts: dict[str, list[tuple[str, int]]] = {}
        topics_of: dict[str, list[str]] = {}
        for consumer in scala_order.children(ids):
            try:
                entries = _entries(version, ids[consumer])
                found = _expanded(entries, listed, hidden, matchers)
            except MemberFailsError as error:
                raise MemberFailsError(f"the registration of {consumer}: {error}") from error
            topics_of[consumer] = scala_order.mutable_map(scala_order.immutable_map(found))
            for topic in topics_of[consumer]:
                counts.setdefault(topic, []).append((consumer, found[topic]))
        return cls(topics_of, threads_of(counts))


def _entries(version: JvmVersion, registration: object) -> _Entries:
    value = _value(version, registration)
    if not isinstance(value, dict):
        raise MemberFailsError("it is not a JSON object")
    pattern, subscription = value.get("pattern"), value.get("subscription")
    null_allowed = not version.reads_with_jackson and "pattern" in value
    if not isinstance(pattern, str) and not (pattern is None and null_allowed):
        raise MemberFailsError('"pattern" is missing or not a string')
    if not isinstance(subscription, dict):
        raise MemberFailsError('"subscription" is missing or not an object')
    if version.reads_with_jackson:
        for name, threads in subscription.items():
            if not _is_int(threads):
                raise MemberFailsError(f"{threads!r} threads of {name!r} is no 32-bit int")
    return _Entries(pattern, subscription)


def _value(version: JvmVersion, registration: object) -> Any:
    text: str | None = None
    if registration is None or isinstance(registration, bytes):
        text = text_of(registration)
    elif isinstance(registration, str):
        text = registration
    try:
        if text is None:
            if not version.reads_with_jackson:
                _refuse_numbers(registration)
            return registration
        if version.reads_with_jackson:
            return parse_jackson(text, version.mends_backslashes)
        return parse_scala(text)
    except (NotJsonError, RecursionError) as error:
        raise MemberFailsError(f"it cannot be parsed: {error}") from error


def _refuse_numbers(value: object) -> None:
    """Scala's parser makes an int of every number, wherever it stands."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _refuse_numbers(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_numbers(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and not _is_int(value):
        raise NotJsonError(f"the number {value} is no 32-bit int")


def _is_int(value: object) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and INT_MIN <= value <= INT_MAX  # type: ignore[operator]


def _expanded(
    entries: _Entries,
    listed: Sequence[str],
    hidden: frozenset[str],
    matchers: dict[str, Matcher],
) -> dict[str, int]:
    """The topics of one member with the number of its threads."""
    if not entries.threads or entries.pattern not in ("white_list", "black_list"):
        return {topic: _count(topic, n) for topic, n in entries.threads.items()}
    expression = scala_order.immutable_map(entries.threads)[0]
    if expression not in matchers:
        try:
            matchers[expression] = compile_expression(expression)
        except SubscriptionError as error:
            if is_unsupported(expression):
                raise AssignmentError.of(
                    "unsupported_pattern", reason=error.what, remedy=error.remedy
                ) from error
            raise MemberFailsError(error.what) from error
    wanted = entries.pattern == "white_list"
    matches = matchers[expression]
    count = entries.threads[expression]
    if count is not None and not _is_int(count):
        raise MemberFailsError(f"{count!r} is not a number of threads")
    found = [topic for topic in listed if topic not in hidden and matches(topic) is wanted]
    # Scala checks the number only when it makes the threads of a topic: not if there is none.
    return {topic: _count(topic, count) for topic in found}


def _count(topic: str, threads: object) -> int:
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise MemberFailsError(f"{threads!r} is not a number of threads for {topic!r}")
    if threads > THREADS_MAX:
        raise MemberFailsError(
            f"{threads} threads for {topic!r} are more than a JVM has memory for"
        )
    return threads


def _check_preconditions(version: JvmVersion, threads: Threads) -> None:
    if not threads and version.refuses_empty:
        raise MemberFailsError("round-robin finds no topic that a member reads")
    if not version.strict or not threads:
        return
    first_topic, first = next(iter(threads.items()))
    for topic, takers in threads.items():
        if takers != first:
            raise MemberFailsError(
                f"round-robin in {version} is allowed only if all members read the same topics and "
                f"each has as many threads for one as for another, but {first_topic!r} has "
                f"{_shown(first)} and {topic!r} has {_shown(takers)}"
            )


def _shown(threads: Sequence[ThreadId]) -> str:
    return ", ".join(map(str, threads[:10])) + (", ..." if len(threads) > 10 else "")


def _claimed_by_all(
    version: JvmVersion,
    strategy: str,
    reading: _Reading,
    topics: Mapping[str, Sequence[int]],
) -> Imitation:
    """Members claim in order, each all of its share or, if one claim fails, nothing."""
    owners: Assignment = {}
    notes: list[str] = []
    known: dict[tuple[str, ...], Assignment] = {}
    for consumer, own in reading.topics_of.items():
        seen = tuple(own) if version.strict else tuple(scala_order.mutable_map(reading.threads))
        pathless = [topic for topic in seen if _NO_PATH.search(topic)]
        if pathless:
            notes.append(f"{consumer} fails: there can be no node for the topic {pathless[0]!r}")
            continue
        if seen not in known:
            known[seen] = _assigned(version, strategy, seen, reading.threads, topics)
        claims = {
            partition: thread
            for partition, thread in known[seen].items()
            if thread.consumer == consumer
        }
        clash = next((partition for partition in claims if partition in owners), None)
        if clash is not None:
            notes.append(
                f"{consumer} fails: {clash} is claimed by {owners[clash]} already; topics with "
                f"equal hashes are dealt in different orders by members of {version}"
            )
            continue
        owners |= claims
    return Imitation(owners, None, tuple(notes))


def _assigned(
    version: JvmVersion,
    strategy: str,
    seen: Sequence[str],
    threads: Threads,
    topics: Mapping[str, Sequence[int]],
) -> Assignment:
    partitions = {topic: topics.get(topic, ()) for topic in seen}
    if strategy == "range":
        return range_assignment(partitions, threads)
    # The partitions pass through two more hash maps before they are laid out.
    laid_out = scala_order.mutable_map(scala_order.mutable_map(seen))
    return round_robin(version.order, laid_out, partitions, threads)
