"""The options of the reader, from the texts Spark hands over to one frozen, checked `Options`.

In this order: names and values one by one, then what they mean together. The first thing that is
wrong is raised as an OptionError with the option's name, what was given, and what is allowed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pyspark_zkgroup import option_table as table
from pyspark_zkgroup.errors import OptionError, SubscriptionError
from pyspark_zkgroup.group import patterns
from pyspark_zkgroup.group.positions import StartingOffsets
from pyspark_zkgroup.group.registration import Subscription
from pyspark_zkgroup.model import Isolation
from pyspark_zkgroup.option_refusals import (
    ADDED_BY_SPARK,
    ADDED_BY_SPARK_PREFIX,
    FIXED,
    OTHERS_OF_KAFKA,
    REFUSED,
    Fixed,
    Refused,
)
from pyspark_zkgroup.option_table import OLD_NAMES, TABLE, OldName, Option

T = TypeVar("T")

# The patience beyond a session's end: the JVM consumers' defaults come to the same 8 seconds.
_REBALANCE_WAIT_BEYOND_SESSION_MS = 2000
_SHOWN_MAX = 200
_SECRET_NAMES = re.compile("auth|credential|jaas|key|password|secret|token")


@dataclass(frozen=True, slots=True)
class Options:
    """What one reader was asked for. The credentials are left out of its repr."""

    zookeeper_hosts: str
    zookeeper_chroot: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    zookeeper_auth: tuple[tuple[str, str], ...] = field(repr=False)
    zookeeper_set_acl: bool
    group_id: str
    member_id: str | None
    checkpoint_location: str | None
    strategy: str
    order: str
    rebalance_wait_ms: int
    max_poll_interval_ms: int
    subscription: Subscription
    exclude_internal_topics: bool
    starting_offsets: StartingOffsets
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    bootstrap_servers: tuple[str, ...]
    client_id: str
    metadata_refresh_ms: int
    fetch_bytes_max: int
    fetch_response_bytes_max: int
    fetch_wait_max_ms: int
    request_timeout_ms: int
    isolation_level: Isolation
    include_headers: bool


def parse(options: Mapping[str, str]) -> Options:
    """OptionError unless every name is known, every value is legal and all of them agree."""
    given = _Given(options)
    connect = given.value(table.CONNECT)
    group_id = given.value(table.GROUP_ID)
    session_timeout_ms = given.value(table.SESSION_TIMEOUT)
    connection_timeout_ms = given.value(table.CONNECTION_TIMEOUT)
    rebalance_wait_ms = given.value(table.REBALANCE_WAIT)
    found = Options(
        zookeeper_hosts=connect.hosts,
        zookeeper_chroot=connect.chroot,
        zookeeper_session_timeout_ms=session_timeout_ms,
        zookeeper_connection_timeout_ms=(
            session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        ),
        zookeeper_auth=given.value(table.AUTH),
        zookeeper_set_acl=given.value(table.SET_ACL),
        group_id=group_id,
        member_id=given.value(table.MEMBER_ID),
        checkpoint_location=given.value(table.CHECKPOINT),
        strategy=given.value(table.STRATEGY),
        order=given.value(table.ORDER),
        rebalance_wait_ms=(
            session_timeout_ms + _REBALANCE_WAIT_BEYOND_SESSION_MS
            if rebalance_wait_ms is None
            else rebalance_wait_ms
        ),
        max_poll_interval_ms=given.value(table.MAX_POLL_INTERVAL),
        subscription=_subscription(given),
        exclude_internal_topics=given.value(table.EXCLUDE_INTERNAL),
        starting_offsets=given.value(table.STARTING_OFFSETS),
        fail_on_data_loss=given.value(table.FAIL_ON_DATA_LOSS),
        max_offsets_per_trigger=given.value(table.MAX_OFFSETS),
        bootstrap_servers=tuple(str(address) for address in given.value(table.BOOTSTRAP)),
        client_id=given.value(table.CLIENT_ID) or group_id,
        metadata_refresh_ms=given.value(table.METADATA_REFRESH),
        fetch_bytes_max=given.value(table.FETCH_BYTES),
        fetch_response_bytes_max=given.value(table.FETCH_RESPONSE_BYTES),
        fetch_wait_max_ms=given.value(table.FETCH_WAIT),
        request_timeout_ms=given.value(table.REQUEST_TIMEOUT),
        isolation_level=cast(Isolation, given.value(table.ISOLATION)),
        include_headers=given.value(table.INCLUDE_HEADERS),
    )
    _check_together(found, given)
    return found


class _Given:
    """The values given, by option, each under the name and with the text the user wrote."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._texts: dict[Option[Any], tuple[str, str]] = {}
        self._values: dict[Option[Any], object] = {}
        for lowered, (name, text) in _by_lowered_name(options).items():
            known = _KNOWN.get(lowered)
            if known is not None:
                self._read(known, text)
            elif lowered in _FIXED:
                _check_fixed(_FIXED[lowered], text)
            elif lowered not in ADDED_BY_SPARK and not lowered.startswith(ADDED_BY_SPARK_PREFIX):
                raise _unknown(name, text)

    def _read(self, known: Option[Any] | OldName[Any], text: str) -> None:
        option = known.option if isinstance(known, OldName) else known
        value = _read(known, option, text)
        if option not in self._values:
            self._texts[option] = known.name, text
            self._values[option] = value
        elif self._values[option] != value:
            raise _differ(option, self._texts[option], (known.name, text))

    def __contains__(self, option: Option[Any]) -> bool:
        return option in self._values

    def value(self, option: Option[T]) -> T:
        if option in self._values:
            return cast(T, self._values[option])
        if option.required:
            raise OptionError(f"Option {option.name!r} is missing", f"Give {option.rule.allowed}")
        return option.default

    def shown(self, option: Option[Any]) -> str:
        """`'name' is 'text'`, for messages: with the name and text given, or the default."""
        if option not in self._texts:
            return f"{option.name!r} is {option.default_shown} by default"
        name, text = self._texts[option]
        return f"{name!r} is {_shown(text, secret=option.secret)}"


_KNOWN: Mapping[str, Option[Any] | OldName[Any]] = {
    **{option.name.lower(): option for option in TABLE},
    **{old.name.lower(): old for old in OLD_NAMES},
}
_FIXED: Mapping[str, Fixed] = {fixed.name.lower(): fixed for fixed in FIXED}
_REFUSED: Mapping[str, Refused] = {refused.name.lower(): refused for refused in REFUSED}


def _by_lowered_name(options: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Name and text. Spark lowers names itself, but a plain mapping may hold one name twice."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in options.items():
        if not isinstance(text, str):
            raise OptionError(
                f"Option {name!r} has a value of type {type(text).__name__}",
                "Give every option as text",
            )
        earlier = found.setdefault(name.lower(), (name, text))
        if earlier[1] != text:
            secret = _is_secret(name)
            raise OptionError(
                f"Options {earlier[0]!r} and {name!r} are one option, given twice: "
                f"{_shown(earlier[1], secret=secret)} and {_shown(text, secret=secret)}",
                "Give it once: case does not matter in names",
            )
    return found


def _read(known: Option[Any] | OldName[Any], option: Option[Any], text: str) -> object:
    try:
        # Blanks around a value are slips, except around a password.
        return known.rule.read(text if option.secret else text.strip())
    except ValueError as error:
        named = repr(known.name) if known is option else f"{known.name!r} (for {option.name!r})"
        raise OptionError(
            f"Option {named} is {_shown(text, secret=option.secret)}, which {error}",
            f"Allowed: {known.rule.allowed}",
        ) from None


def _differ(option: Option[Any], first: tuple[str, str], second: tuple[str, str]) -> OptionError:
    (name, text), (other_name, other_text) = sorted([first, second])
    return OptionError(
        f"Options {name!r} and {other_name!r} mean the same but differ: "
        f"{_shown(text, secret=option.secret)} and {_shown(other_text, secret=option.secret)}",
        f"Give {option.name!r} alone",
    )


def _check_fixed(fixed: Fixed, text: str) -> None:
    if text.strip().lower() != fixed.value.lower():
        raise OptionError(
            f"Option {fixed.name!r} is {_shown(text)}, which is refused: {fixed.why}",
            fixed.instead,
        )


def _unknown(name: str, text: str) -> OptionError:
    lowered = name.lower()
    refused = _REFUSED.get(lowered)
    if refused is not None:
        return _is_refused(refused, f"Option {refused.name!r}", text, secret=_is_secret(lowered))
    nearest = _nearest(lowered)
    secret = _is_secret(lowered) or (nearest is not None and _is_secret(nearest))
    if nearest is None and lowered.startswith("kafka."):
        return _is_refused(OTHERS_OF_KAFKA, f"Option {name!r}", text, secret=secret)
    return OptionError(
        f"Option {name!r} (given {_shown(text, secret=secret)}) is unknown",
        _known_options() if nearest is None else _described(nearest),
    )


def _is_refused(refused: Refused, named: str, text: str, *, secret: bool) -> OptionError:
    return OptionError(
        f"{named} (given {_shown(text, secret=secret)}) is refused: {refused.why}", refused.instead
    )


def _nearest(lowered: str) -> str | None:
    """Of the names of Kafka's clients there are hundreds: only a slip in one of ours is guessed."""
    of_kafka = lowered.startswith("kafka.")
    names = [
        name for name in (*_KNOWN, *_FIXED, *_REFUSED) if name.startswith("kafka.") or not of_kafka
    ]
    return next(iter(difflib.get_close_matches(lowered, names, 1, 0.9 if of_kafka else 0.6)), None)


def _described(lowered: str) -> str:
    if lowered in _KNOWN:
        known = _KNOWN[lowered]
        return f"Did you mean {known.name!r}? Allowed there: {known.rule.allowed}"
    if lowered in _FIXED:
        fixed = _FIXED[lowered]
        return f"Did you mean {fixed.name!r}? Allowed there: {fixed.value}"
    refused = _REFUSED[lowered]
    return f"Did you mean {refused.name!r}? It is refused: {refused.why}. {refused.instead}"


def _known_options() -> str:
    return f"Known options: {', '.join(option.name for option in TABLE)}"


def _subscription(given: _Given) -> Subscription:
    sources = (table.SUBSCRIBE, table.SUBSCRIBE_PATTERN, table.EXCLUDE_PATTERN)
    allowed = "Give exactly one of 'subscribe', 'subscribePattern' and 'excludePattern'"
    present = [source for source in sources if source in given]
    if not present:
        raise OptionError("No option says which topics to read", allowed)
    if len(present) > 1:
        several = " and ".join(given.shown(source) for source in present)
        raise OptionError(f"Several options say which topics to read: {several}", allowed)
    threads = given.value(table.THREADS)
    topics = given.value(table.SUBSCRIBE)
    if topics is not None:
        return Subscription.static(_threads_of(topics, threads, given))
    if table.TOPIC_THREADS in given:
        raise OptionError(
            f"Option {given.shown(table.TOPIC_THREADS)}, but {given.shown(present[0])}",
            "With a pattern, 'threads' holds for every topic: leave 'topic.threads' out",
        )
    if present[0] is table.SUBSCRIBE_PATTERN:
        return Subscription.white_list(_expression(table.SUBSCRIBE_PATTERN, given), threads)
    return Subscription.black_list(_expression(table.EXCLUDE_PATTERN, given), threads)


def _threads_of(topics: tuple[str, ...], threads: int, given: _Given) -> dict[str, int]:
    by_topic = given.value(table.TOPIC_THREADS)
    for topic in by_topic:
        if topic not in topics:
            raise OptionError(
                f"Option {given.shown(table.TOPIC_THREADS)}, which names {topic!r}, but "
                f"{given.shown(table.SUBSCRIBE)}",
                f"Name topics of 'subscribe': {', '.join(topics)}",
            )
    return {topic: by_topic.get(topic, threads) for topic in topics}


def _expression(option: Option[str | None], given: _Given) -> str:
    """Cleaned as a JVM consumer cleans it before it registers it: that text is what others read."""
    expression = patterns.clean(given.value(option) or "")
    if not expression:
        raise OptionError(
            f"Option {given.shown(option)}, which is empty without blanks and quotes",
            f"Allowed: {option.rule.allowed}",
        )
    try:
        patterns.compile_expression(expression)
    except SubscriptionError as error:
        raise OptionError(
            f"Option {given.shown(option)}: {error.what}",
            f"{error.remedy}. Allowed: {option.rule.allowed}",
        ) from error
    why = patterns.difference(expression)
    if why is not None:
        raise OptionError(
            f"Option {given.shown(option)}, which Python and Java read differently: {why}",
            "Write it in what both have in common: every member of the group reads it",
        )
    return expression


def _check_together(found: Options, given: _Given) -> None:
    if found.zookeeper_set_acl and not found.zookeeper_auth:
        raise OptionError(
            f"Option {given.shown(table.SET_ACL)}, but 'zookeeper.auth' is not given",
            "Give 'zookeeper.auth' too: nodes can be kept for those alone who authenticate",
        )
    if found.fetch_wait_max_ms >= found.request_timeout_ms:
        raise OptionError(
            f"Option {given.shown(table.FETCH_WAIT)}, but {given.shown(table.REQUEST_TIMEOUT)}",
            "A broker must answer before it is given up: make the first less than the second",
        )
    _check_starting_topics(found, given)


def _check_starting_topics(found: Options, given: _Given) -> None:
    subscription = found.subscription
    for topic in dict.fromkeys(
        partition.topic for partition, _ in found.starting_offsets.partitions
    ):
        if subscription.is_wildcard:
            matched = patterns.compile_expression(subscription.expression)(topic)
            read = matched == (subscription.pattern == "white_list")
        else:
            read = topic in dict(subscription.entries)
        if not read:
            source = next(
                source
                for source in (table.SUBSCRIBE, table.SUBSCRIBE_PATTERN, table.EXCLUDE_PATTERN)
                if source in given
            )
            raise OptionError(
                f"Option {given.shown(table.STARTING_OFFSETS)}, which names {topic!r}, but "
                f"{given.shown(source)}",
                "Name only topics that are read",
            )


def _shown(text: str, *, secret: bool = False) -> str:
    if secret:
        return "'*****'"
    return repr(text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "...")


def _is_secret(name: str) -> bool:
    known = _KNOWN.get(name.lower())
    if known is not None:
        return (known.option if isinstance(known, OldName) else known).secret
    return _SECRET_NAMES.search(name.lower()) is not None
