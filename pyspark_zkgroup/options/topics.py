"""Which topics are read, with how many threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from pyspark_zkgroup.errors import OptionError, SubscriptionError
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.registration import THREADS_MAX, Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule

NO_THREADS: Final[Mapping[str, int]] = MappingProxyType({})


def _topics(text: str) -> tuple[str, ...]:
    """Each topic once, in the order given; empty entries are dropped, as Spark's source does."""
    names = tuple(
        dict.fromkeys(rules.topic_name(part.strip()) for part in text.split(",") if part.strip())
    )
    if not names:
        raise ValueError("names no topic")
    return names


def _partitions(text: str) -> tuple[TopicPartition, ...]:
    found: set[TopicPartition] = set()
    for topic, numbers in rules.json_object(text, "topics and their partitions").items():
        rules.topic_name(topic)
        if not isinstance(numbers, list) or not numbers:
            raise ValueError(f"gives {topic!r} {rules.shown(numbers)}, not a list of partitions")
        for number in numbers:
            if not rules.is_int(number) or not 0 <= number <= rules.INT_MAX:
                raise ValueError(f"names the partition {rules.shown(number)} of {topic!r}")
            found.add(TopicPartition(topic, number))
    return tuple(sorted(found))


def _threads_by_topic(text: str) -> Mapping[str, int]:
    threads: dict[str, int] = {}
    for topic, count in rules.json_object(text, "topics and their thread counts").items():
        if not rules.is_int(count) or not 1 <= count <= THREADS_MAX:
            raise ValueError(f"gives {rules.shown(count)} threads to {topic!r}")
        threads[rules.topic_name(topic)] = count
    return threads


TOPICS = Rule(
    f"topic names separated by commas, each of at most {rules.TOPIC_LENGTH_MAX} "
    f"{rules.NAME_ALLOWED}",
    _topics,
)
PARTITIONS = Rule(
    'a JSON object of topics and their partitions, such as {"orders": [0, 1], "payments": [2]}',
    _partitions,
)
EXPRESSION = Rule("one regular expression that matches whole topic names", rules.not_empty)
THREADS_BY_TOPIC = Rule(
    f'a JSON object such as {{"orders": 8, "payments": 2}}, with numbers from 1 to {THREADS_MAX}',
    _threads_by_topic,
)

SECTION: Final = Section(__name__, "Topics")

SUBSCRIBE = SECTION.optional("subscribe", TOPICS)
"""Topics to read. Exactly one of `subscribe`, subscribePattern, excludePattern and `assign`
is required.
"""
ASSIGN = SECTION.optional("assign", PARTITIONS)
"""Read these partitions without joining the group. Nothing is shared and no other member takes
over, but offsets are read and committed as the group's. Refused while the group has members. If
two queries assign the same partition, the earlier one ends with an error. Not with protocol=kafka.
"""
SUBSCRIBE_PATTERN = SECTION.optional("subscribePattern", EXPRESSION)
"""Read the topics whose whole name matches (a white list), including those created later. A comma
means `|`, and blanks are dropped, as in the JVM consumers. Supported: characters, `.`, `[...]`,
`(...)`, `|`, `*`, `+`, `?`, `{n}`, `^`, `$`, `\\d`, `\\w`, `\\s`, and `(?!...)` at the
beginning. Anything else is refused by name.
"""
EXCLUDE_PATTERN = SECTION.optional("excludePattern", EXPRESSION)
"""Read all topics except those whose whole name matches (a black list)."""
EXCLUDE_INTERNAL = SECTION.option("exclude.internal.topics", rules.FLAG, True)
"""Whether patterns leave out `__consumer_offsets` and `__transaction_state`. Topics named by
subscribe are always read.
"""
THREADS = SECTION.option("threads", rules.whole_number(1, THREADS_MAX), 4)
"""Number of consumer threads per topic: the maximum number of Spark tasks of this query that read
at the same time, unless minPartitions or maxRecordsPerPartition split them. Also the query's
weight in the group: partitions are assigned in proportion to threads.
"""
TOPIC_THREADS = SECTION.option("topic.threads", THREADS_BY_TOPIC, NO_THREADS)
"""Number of threads for single topics of subscribe, in place of threads. Not valid with a pattern.
"""

SOURCES: Final = (SUBSCRIBE, SUBSCRIBE_PATTERN, EXCLUDE_PATTERN, ASSIGN)


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """`assigned` are the partitions that are read without joining the group; none for a member."""

    subscription: Subscription
    assigned: tuple[TopicPartition, ...]
    exclude_internal: bool

    @property
    def hidden(self) -> frozenset[str]:
        """Topics that no pattern matches."""
        return patterns.INTERNAL_TOPICS if self.exclude_internal else frozenset()


def topic_selection(given: Given) -> TopicSelection:
    assigned = given.value(ASSIGN) or ()
    return TopicSelection(_subscription(given, assigned), assigned, given.value(EXCLUDE_INTERNAL))


def _subscription(given: Given, assigned: tuple[TopicPartition, ...]) -> Subscription:
    present = [source for source in SOURCES if source in given]
    if len(present) > 1:
        several = " and ".join(given.shown(source) for source in present)
        raise OptionError.of("several_sources", options=several)
    threads = given.value(THREADS)
    topics = given.value(SUBSCRIBE) or tuple(dict.fromkeys(p.topic for p in assigned))
    if topics:
        return Subscription.static(_threads_of(topics, threads, given, present[0]))
    given.refuse(
        [TOPIC_THREADS],
        given.shown(present[0]),
        "With a pattern, 'threads' holds for every topic: leave 'topic.threads' out",
    )
    if SUBSCRIBE_PATTERN in given:
        return Subscription.white_list(_expression(SUBSCRIBE_PATTERN, given), threads)
    return Subscription.black_list(_expression(EXCLUDE_PATTERN, given), threads)


def _threads_of(
    topics: tuple[str, ...], threads: int, given: Given, source: Option[Any]
) -> dict[str, int]:
    by_topic = given.value(TOPIC_THREADS)
    for topic in by_topic:
        if topic not in topics:
            remedy = f"Name topics of {source.name!r}: {', '.join(topics)}"
            raise _names(given, TOPIC_THREADS, repr(topic), source, remedy)
    return {topic: by_topic.get(topic, threads) for topic in topics}


def _expression(option: Option[str | None], given: Given) -> str:
    """Cleaned as a JVM consumer cleans it before it registers it: that text is what others read."""
    allowed = f"Allowed: {option.rule.allowed}"
    expression = patterns.clean(given.value(option) or "")
    if not expression:
        raise given.error(option, ", which is empty without blanks and quotes", allowed)
    try:
        patterns.compile_expression(expression)
    except SubscriptionError as error:
        raise given.error(option, f": {error.what}", f"{error.remedy}. {allowed}") from error
    return expression


def check_positions(
    option: Option[Any],
    positions: Iterable[tuple[TopicPartition, int]],
    topics: TopicSelection,
    given: Given,
) -> None:
    """Each topic that a position is given for is read, and of assigned ones each partition."""
    named = [partition for partition, _ in positions]
    for partition in named if topics.assigned else ():
        if partition not in topics.assigned:
            remedy = "Name only partitions that are read"
            raise _names(given, option, str(partition), ASSIGN, remedy)
    subscription = topics.subscription
    for topic in dict.fromkeys(partition.topic for partition in named):
        if subscription.is_wildcard:
            matched = patterns.compile_expression(subscription.expression)(topic)
            read = matched == (subscription.pattern == "white_list")
        else:
            read = topic in dict(subscription.entries)
        if not read:
            source = next(source for source in SOURCES if source in given)
            remedy = "Name only topics that are read"
            raise _names(given, option, repr(topic), source, remedy)


def _names(
    given: Given, option: Option[Any], named: str, source: Option[Any], remedy: str
) -> OptionError:
    return given.error(option, f", which names {named}, but {given.shown(source)}", remedy)
