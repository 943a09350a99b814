"""Which topics are read, from the options that say so together."""

from __future__ import annotations

from typing import Any, Final

from pyspark_zkgroup.errors import OptionError, SubscriptionError
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import topic_options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option

SOURCES: Final = (
    topic_options.SUBSCRIBE,
    topic_options.SUBSCRIBE_PATTERN,
    topic_options.EXCLUDE_PATTERN,
    topic_options.ASSIGN,
)


def assigned(given: Given) -> tuple[TopicPartition, ...]:
    """The partitions that are read without joining the group; none for a member."""
    return given.value(topic_options.ASSIGN) or ()


def subscription(given: Given) -> Subscription:
    allowed = "Give exactly one of 'subscribe', 'subscribePattern', 'excludePattern' and 'assign'"
    present = [source for source in SOURCES if source in given]
    if not present:
        raise OptionError("No option says which topics to read", allowed)
    if len(present) > 1:
        several = " and ".join(given.shown(source) for source in present)
        raise OptionError(f"Several options say which topics to read: {several}", allowed)
    threads = given.value(topic_options.THREADS)
    topics = given.value(topic_options.SUBSCRIBE)
    if topics is not None:
        return Subscription.static(_threads_of(topics, threads, given, topic_options.SUBSCRIBE))
    if topic_options.ASSIGN in given:
        topics = tuple(dict.fromkeys(partition.topic for partition in assigned(given)))
        return Subscription.static(_threads_of(topics, threads, given, topic_options.ASSIGN))
    if topic_options.TOPIC_THREADS in given:
        raise OptionError(
            f"Option {given.shown(topic_options.TOPIC_THREADS)}, but {given.shown(present[0])}",
            "With a pattern, 'threads' holds for every topic: leave 'topic.threads' out",
        )
    if present[0] is topic_options.SUBSCRIBE_PATTERN:
        return Subscription.white_list(_expression(topic_options.SUBSCRIBE_PATTERN, given), threads)
    return Subscription.black_list(_expression(topic_options.EXCLUDE_PATTERN, given), threads)


def _threads_of(
    topics: tuple[str, ...], threads: int, given: Given, source: Option[Any]
) -> dict[str, int]:
    by_topic = given.value(topic_options.TOPIC_THREADS)
    for topic in by_topic:
        if topic not in topics:
            raise OptionError(
                f"Option {given.shown(topic_options.TOPIC_THREADS)}, which names {topic!r}, but "
                f"{given.shown(source)}",
                f"Name topics of {source.name!r}: {', '.join(topics)}",
            )
    return {topic: by_topic.get(topic, threads) for topic in topics}


def _expression(option: Option[str | None], given: Given) -> str:
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
    return expression
