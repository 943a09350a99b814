"""What a member says of itself under ids/: which topics or pattern, how many threads, since when.

The bytes are those of the JVM consumers: their keys in their order, no blanks. Our own members add
one key, "zkgroup", that JVM members pass over. Every value in it is a string: a number with a
fraction or beyond 32 bits *anywhere* in a registration makes every JVM member up to 0.11 fail each
of its rebalances, after it has released all that it owned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyspark_zkgroup.errors import BadZnodeError, SubscriptionError
from pyspark_zkgroup.jvm import topics
from pyspark_zkgroup.jvm.java_json import NotJsonError, parse_jackson, text_of
from pyspark_zkgroup.jvm.scala_order import immutable_map

Pattern = Literal["static", "white_list", "black_list"]

THREADS_MAX = 10_000
"""Of one topic, as the options allow it."""
REGISTRATION_THREADS_MAX = 100_000
"""Of all topics of one registration: every reader of the node makes a value of each thread."""
_SHOWN = 300
_VALUE_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Subscription:
    """Topics with their threads, or one expression with its threads. Empty: it reads nothing."""

    pattern: Pattern
    entries: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.entries]
        if len(set(names)) != len(names):
            raise SubscriptionError.of("topic_twice", topics=names)
        for name, threads in self.entries:
            if isinstance(threads, bool) or not 1 <= threads <= THREADS_MAX:
                raise SubscriptionError.of(
                    "bad_threads", threads=threads, topic=name, limit=THREADS_MAX
                )
        if self.threads > REGISTRATION_THREADS_MAX:
            raise SubscriptionError.of(
                "too_many_threads",
                threads=self.threads,
                count=len(names),
                limit=REGISTRATION_THREADS_MAX,
            )
        if self.pattern != "static" and len(self.entries) != 1:
            raise SubscriptionError.of("several_expressions", pattern=self.pattern, names=names)

    @classmethod
    def static(cls, threads: Mapping[str, int]) -> Subscription:
        """Of our own: only names that a broker would take."""
        if not threads:
            raise SubscriptionError.of("no_topic")
        for topic in threads:
            if not topics.legal_name(topic):
                raise SubscriptionError.of(
                    "bad_topic_name", topic=topic, limit=topics.NAME_LENGTH_MAX
                )
        return cls("static", tuple(threads.items()))

    @classmethod
    def white_list(cls, expression: str, threads: int) -> Subscription:
        return cls("white_list", ((expression, threads),))

    @classmethod
    def black_list(cls, expression: str, threads: int) -> Subscription:
        return cls("black_list", ((expression, threads),))

    @property
    def threads(self) -> int:
        """Of all entries together."""
        return sum(threads for _, threads in self.entries)

    @property
    def is_wildcard(self) -> bool:
        return self.pattern != "static"

    @property
    def expression(self) -> str:
        """The expression of a white or black list."""
        if not self.is_wildcard:
            raise ValueError("a static subscription has topics, no expression")
        return self.entries[0][0]


@dataclass(frozen=True, slots=True)
class LightSeat:
    """Of a node that no session of ZooKeeper ends: which process it stands for, how long that one
    may be silent, and the newest decision of a coordinator that it has obeyed. `incarnation` shows
    knowledge of the secret of the process; `subject`: of the certificate it has come with.
    """

    incarnation: str
    timeout_ms: int
    generation: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """One member's registration. `strategy` and what follows is None or False for JVM members.

    `balanced`: equal shares instead of `strategy`, as soon as every member of the group says so.
    `internal`: its pattern means the brokers' own topics too, which a coordinator has to know.
    `light`: that of a member whose session a coordinator keeps, in place of ZooKeeper.
    """

    subscription: Subscription
    timestamp: str
    strategy: str | None = None
    order: str | None = None
    balanced: bool = False
    static_id: bool = False
    internal: bool = False
    light: LightSeat | None = None

    @property
    def is_zkgroup(self) -> bool:
        return self.strategy is not None

    @property
    def rule(self) -> str | None:
        """As users know it: the value of partition.assignment.strategy."""
        return "balanced" if self.balanced else self.strategy


def encode_registration(registration: Registration) -> bytes:
    value: dict[str, object] = {
        "version": 1,
        "subscription": dict(registration.subscription.entries),
        "pattern": registration.subscription.pattern,
        "timestamp": registration.timestamp,
    }
    if registration.strategy is not None:
        value["zkgroup"] = {
            "strategy": registration.strategy,
            "order": registration.order or "",
            **({"balanced": "true"} if registration.balanced else {}),
            "static": "true" if registration.static_id else "false",
            **({"internal": "true"} if registration.internal else {}),
            **(_light_texts(registration.light) if registration.light else {}),
        }
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def parse_registration(path: str, data: bytes | None) -> Registration:
    """Read a registration as the newest JVM members do; BadZnodeError where those fail.

    What only older members fail on (a number with a fraction next to the subscription) is read: the
    member is there and reads its topics; that the others own nothing then is their affair.
    """
    try:
        value: Any = parse_jackson(text_of(data), mend_backslashes=True)
    except NotJsonError as error:
        raise _bad(path, data, "it is not JSON") from error
    if not isinstance(value, dict):
        raise _bad(path, data, "it is not an object")
    pattern, subscribed = value.get("pattern"), value.get("subscription")
    if not isinstance(pattern, str):
        raise _bad(path, data, '"pattern" is missing or not a string')
    if not isinstance(subscribed, dict):
        raise _bad(path, data, '"subscription" is missing or not an object')
    for name, threads in subscribed.items():
        if not _is_count(threads):
            raise _bad(path, data, f"{_shown(threads)} is no number of threads for {_shown(name)}")
    if sum(subscribed.values()) > REGISTRATION_THREADS_MAX:
        raise _bad(path, data, f"it asks for more than {REGISTRATION_THREADS_MAX} threads in all")
    own = value.get("zkgroup")
    if own is not None and not _is_own(own):
        raise _bad(path, data, '"zkgroup" does not hold what a zkgroup member writes')
    return Registration(
        subscription_of(pattern, subscribed),
        str(value.get("timestamp", "")),
        strategy=own["strategy"] if own else None,
        order=(own.get("order") or None) if own else None,
        balanced=own is not None and own.get("balanced") == "true",
        static_id=own is not None and own.get("static") == "true",
        internal=own is not None and own.get("internal") == "true",
        light=_light_of(own) if own else None,
    )


def subscription_of(pattern: str | None, entries: Mapping[str, int]) -> Subscription:
    """As every reader takes it: the first entry of a list; any other pattern, or none, is static"""
    if entries and pattern in ("white_list", "black_list"):
        first = immutable_map(entries)[0]
        kind: Pattern = "white_list" if pattern == "white_list" else "black_list"
        return Subscription(kind, ((first, entries[first]),))
    return Subscription("static", tuple(entries.items()))


def _is_count(threads: object) -> bool:
    return (
        isinstance(threads, int) and not isinstance(threads, bool) and 1 <= threads <= THREADS_MAX
    )


def _light_texts(light: LightSeat) -> dict[str, str]:
    return {
        "incarnation": light.incarnation,
        "timeout": str(light.timeout_ms),
        "generation": light.generation,
        **({"subject": light.subject} if light.subject else {}),
    }


def _light_of(own: Mapping[str, str]) -> LightSeat | None:
    timeout = own.get("timeout", "")
    if "incarnation" not in own or not (timeout.isascii() and timeout.isdigit()):
        return None
    generation, subject = own.get("generation", ""), own.get("subject", "")
    return LightSeat(own["incarnation"], int(timeout[:9]), generation, subject)


def _shown(value: object) -> str:
    """Of a value from a node: short, whatever it is."""
    if isinstance(value, dict | list):
        return f"a {'object' if isinstance(value, dict) else 'list'} of {len(value)}"
    return repr(value)[:_VALUE_SHOWN]


def _is_own(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(text, str) for text in value.values())
        and bool(value.get("strategy"))
    )


def _bad(path: str, data: bytes | None, why: str) -> BadZnodeError:
    return BadZnodeError.of("registration", path=path, reason=why, data=(data or b"")[:_SHOWN])
