"""The guides for migration against the code: old properties, and the readers they show."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.parse import TABLE
from pyspark_zkgroup.options.refusals import REFUSED
from tests.unit.docs.test_operations import PROJECT

TEXT = "".join(path.read_text("utf-8") for path in sorted((PROJECT / "docs").glob("from-*.md")))
PROPERTY = re.compile(r"^\| `([a-z.]+)` \| (same|refused|unknown|`[\w.]+`) \|", re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# What kafka.consumer.ConsumerConfig of Kafka 1.1.1 and its parent read; the rest of a file is
# passed over by it.
OLD_PROPERTIES = [
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "client.id",
    "consumer.id",
    "consumer.timeout.ms",
    "dual.commit.enabled",
    "exclude.internal.topics",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.wait.max.ms",
    "group.id",
    "mirror.consumer.numthreads",
    "mirror.topics.blacklist",
    "mirror.topics.whitelist",
    "num.consumer.fetchers",
    "offsets.channel.backoff.ms",
    "offsets.channel.socket.timeout.ms",
    "offsets.commit.max.retries",
    "offsets.storage",
    "partition.assignment.strategy",
    "queued.max.message.chunks",
    "rebalance.backoff.ms",
    "rebalance.max.retries",
    "refresh.leader.backoff.ms",
    "socket.receive.buffer.bytes",
    "socket.timeout.ms",
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    "zookeeper.sync.time.ms",
]


def became(name: str) -> str:
    """As the page has it."""
    if name in {option.name for option in TABLE.options}:
        return "same"
    for old in TABLE.old_names:
        if old.name == name:
            return f"`{old.option.name}`"
    return "refused" if name in {refused.name for refused in REFUSED} else "unknown"


def test_every_property_of_an_old_consumer_became_what_the_page_says() -> None:
    assert dict(PROPERTY.findall(TEXT)) == {name: became(name) for name in OLD_PROPERTIES}


@pytest.mark.parametrize("code", PYTHON)
def test_code_of_the_page_is_python(code: str) -> None:
    ast.parse(code)


def options_given(code: str) -> Iterator[dict[str, str]]:
    """Those of each reader of ours."""
    for statement in ast.parse(code).body:
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        named = {c.func.attr: c for c in calls if isinstance(c.func, ast.Attribute)}
        if "readStream" in ast.unparse(statement) and "'zkgroup'" in ast.unparse(named["format"]):
            load = named["load"]
            yield {
                ast.literal_eval(call.args[0]): ast.literal_eval(call.args[1])
                for call in ast.walk(load)
                if isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "option"
            }


def test_readers_of_the_page_are_given_options_that_are_taken() -> None:
    found = [options for code in PYTHON for options in options_given(code)]
    assert len(found) == 2
    for options in found:
        assert parse(options).group.id == "billing"
