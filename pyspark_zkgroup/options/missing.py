"""The options that a reader requires: all that are missing are reported in one error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import brokers, group, light, topics, zookeeper
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.protocol import PROTOCOL

Use = Literal["stream", "batch", "either"]
"""Spark's `load()` does not tell which of the two it is for. So what is wrong in both is reported
there, and what is wrong in one when the stream starts or the batch is read.
"""


class _Missing(NamedTuple):
    option: Option[Any]
    example: str
    remark: str = ""


_SERVERS = (zookeeper.CONNECT, brokers.BOOTSTRAP, light.ADDRESSES)
_BROKERS = _Missing(brokers.BOOTSTRAP, "kafka1:9092")
_ZOOKEEPER = _Missing(zookeeper.CONNECT, "zk1:2181/kafka")
_GROUP = _Missing(group.GROUP_ID, "billing")
_TOPICS = _Missing(
    topics.SUBSCRIBE, "orders", " (or 'subscribePattern', 'excludePattern' or 'assign')"
)
_SERVERS_OF = {
    "kafka": _BROKERS,
    "zookeeper": _ZOOKEEPER,
    "coordinator": _ZOOKEEPER,
    "light": _Missing(light.ADDRESSES, "coordinator1:2183"),
}


def check_required(given: Given, use: Use) -> None:
    missing = list(_missing(given))
    if _GROUP in missing and (use == "batch" or (use == "either" and len(missing) == 1)):
        missing.remove(_GROUP)
    if not missing:
        return
    *names, last = (f"{option.name!r}{remark}" for option, _, remark in missing)
    what = f"Options {', '.join(names)} and {last} are" if names else f"Option {last} is"
    examples = ", ".join(f"{option.name}={example}" for option, example, _ in missing)
    raise OptionError.of("missing", options=what, examples=examples)


def _missing(given: Given) -> Iterator[_Missing]:
    protocol = given.value(PROTOCOL)
    if protocol is not None:
        if _SERVERS_OF[protocol].option not in given:
            yield _SERVERS_OF[protocol]._replace(remark=f" (as {given.shown(PROTOCOL)})")
    elif not any(option in given for option in _SERVERS):
        yield _BROKERS._replace(remark=f" (or {zookeeper.CONNECT.name!r})")
    if group.GROUP_ID not in given:
        yield _GROUP
    if not any(source in given for source in topics.SOURCES):
        yield _TOPICS
