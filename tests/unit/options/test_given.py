"""Errors of invalid options: name, value, and the allowed values."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.options.parse import TABLE
from tests.harness.given_options import CONNECT, LEAST, WITHOUT_TOPICS, refusal

NAME = "one or more letters, digits, '.', '_' and '-' of ASCII"
GROUP = f"{NAME}, except the reserved coordinator and groups"
TOPICS = (
    "topic names separated by commas, each of at most 249 letters, digits, '.', '_' and '-' of "
    "ASCII"
)
THREADS = 'a JSON object such as {"orders": 8, "payments": 2}, with numbers from 1 to 10000'
STARTING = (
    'earliest, latest, or a JSON object such as {"orders": {"0": 23, "1": -2, "2": -1}} with the '
    "next offset to read, or -2 for earliest, or -1 for latest"
)
ONE_SOURCE = "Set exactly one of 'subscribe', 'subscribePattern', 'excludePattern' and 'assign'"
COMMITS = (
    "offsets are committed at each boundary between two batches, as soon as Spark has finished "
    "the batch"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # Names.
        (
            {"thraeds": "8"},
            (
                "Option 'thraeds' (given '8') is unknown. Did you mean 'threads'? "
                "Allowed there: a whole number from 1 to 10000"
            ),
        ),
        (
            {"startingoffset": "x"},
            (
                f"Option 'startingoffset' (given 'x') is unknown. Did you mean 'startingOffsets'? "
                f"Allowed there: {STARTING}"
            ),
        ),
        (
            {"offset.storage": "kafka"},
            (
                "Option 'offset.storage' (given 'kafka') is unknown. Did you mean "
                "'offsets.storage'? "
                "Allowed there: zookeeper or kafka"
            ),
        ),
        (
            {"auto.commit.enabled": "true"},
            (
                "Option 'auto.commit.enabled' (given 'true') is unknown. "
                f"Did you mean 'auto.commit.enable'? It is refused: {COMMITS}. Leave it out"
            ),
        ),
        (
            {"xyz": "1"},
            "Option 'xyz' (given '1') is unknown. Known options: "
            + ", ".join(option.name for option in TABLE.options),
        ),
        (
            {"kafka.compression.type": "1"},
            (
                "Option 'kafka.compression.type' (given '1') is refused: it would have no effect "
                "here, where no Kafka client of the JVM is run. Use the options of zkgroup's own "
                "table"
            ),
        ),
        (
            {"Auto.Commit.Interval.Ms": "1000"},
            (
                f"Option 'auto.commit.interval.ms' (given '1000') is refused: {COMMITS}. "
                "The trigger interval of the query is the interval of commits"
            ),
        ),
        (
            {"Threads": "1", "threads": "2"},
            (
                "Options 'Threads' and 'threads' are one option, given twice: '1' and '2'. "
                "Give it once: names are not case sensitive"
            ),
        ),
        (
            {"auto.offset.reset": "smallest", "startingOffsets": "latest"},
            (
                "Options 'auto.offset.reset' and 'startingOffsets' mean the same but differ: "
                "'smallest' and 'latest'. Set only 'startingOffsets'"
            ),
        ),
        (
            {"consumer.id": "a b"},
            (
                "Option 'consumer.id' (for 'member.id') is 'a b', which has the character "
                "' ' in it. "
                f"Allowed: {NAME}"
            ),
        ),
        (
            {"threads": None},
            "Option 'threads' has a value of type NoneType. Set every option to a string",
        ),
        # Numbers and words.
        *(
            (
                {"threads": given},
                (
                    f"Option 'threads' is {given!r}, which {why}. Allowed: a whole "
                    "number from 1 to 10000"
                ),
            )
            for given, why in [
                ("", "is not a whole number"),
                ("four", "is not a whole number"),
                ("1.0", "is not a whole number"),
                ("1_0", "is not a whole number"),
                ("\u0664", "is not a whole number"),
                ("0", "is out of range"),
                ("-1", "is out of range"),
                ("10001", "is out of range"),
                ("9" * 199, "is out of range"),
            ]
        ),
        (
            {"threads": "9" * 5000},
            (
                f"Option 'threads' is '{'9' * 200}...', which is out of range. "
                "Allowed: a whole number from 1 to 10000"
            ),
        ),
        (
            {"zookeeper.session.timeout.ms": "0"},
            (
                "Option 'zookeeper.session.timeout.ms' is '0', which is out of range. "
                "Allowed: a whole number of milliseconds from 1 to 3600000"
            ),
        ),
        (
            {"partition.assignment.strategy": "sticky"},
            (
                "Option 'partition.assignment.strategy' is 'sticky', which is not an "
                "allowed value. "
                "Allowed: balanced or range or roundrobin or cooperative-sticky"
            ),
        ),
        (
            {"auto.offset.reset": "none"},
            (
                "Option 'auto.offset.reset' (for 'startingOffsets') is 'none', which is not an "
                "allowed value. Allowed: smallest or earliest, largest or latest"
            ),
        ),
        (
            {"exclude.internal.topics": "yes"},
            (
                "Option 'exclude.internal.topics' is 'yes', which is neither true nor false. "
                "Allowed: true or false"
            ),
        ),
        # Ids.
        *(
            ({"group.id": given}, f"Option 'group.id' is {given!r}, which {why}. Allowed: {GROUP}")
            for given, why in [
                ("", "is empty"),
                ("  ", "is empty"),
                ("a/b", "has the character '/' in it"),
                ("a b", "has the character ' ' in it"),
                ("é", "has the character 'é' in it"),
                (".", "cannot be the name of a node in ZooKeeper"),
                ("..", "cannot be the name of a node in ZooKeeper"),
                ("groups", "is reserved: coordinators keep their own nodes under that name"),
                ("coordinator", "is reserved: coordinators keep their own nodes under that name"),
            ]
        ),
        ({"member.id": ""}, f"Option 'member.id' is '', which is empty. Allowed: {NAME}"),
        # Topics.
        *(
            (
                {"subscribe": given},
                f"Option 'subscribe' is {given!r}, which {why}. Allowed: {TOPICS}",
            )
            for given, why in [
                ("", "names no topic"),
                (" , ,", "names no topic"),
                ("a,b/c", "names the topic 'b/c', which has the character '/' in it"),
                ("a, ..", "names the topic '..', which no cluster can have"),
            ]
        ),
        (
            {"subscribe": "x" * 250},
            (
                f"Option 'subscribe' is '{'x' * 200}...', which names a topic of 250 characters "
                f"(at most 249 are legal). Allowed: {TOPICS}"
            ),
        ),
        *(
            (
                {"topic.threads": given},
                f"Option 'topic.threads' is {given!r}, which {why}. Allowed: {THREADS}",
            )
            for given, why in [
                ("orders=2", "is not JSON (Expecting value at character 1)"),
                ("[1]", "is not a JSON object of topics and their thread counts"),
                ("{}", "is not a JSON object of topics and their thread counts"),
                ('{"orders": 0}', "gives 0 threads to 'orders'"),
                ('{"orders": true}', "gives true threads to 'orders'"),
                ('{"orders": "2"}', "gives \"2\" threads to 'orders'"),
                ('{"orders": 2.0}', "gives 2.0 threads to 'orders'"),
                ('{"orders": 1, "orders": 2}', "names something twice"),
            ]
        ),
        (
            {"topic.threads": '{"order": 2}'},
            (
                "Option 'topic.threads' is '{\"order\": 2}', which names 'order', but "
                "'subscribe' is "
                "'orders'. Name topics of 'subscribe': orders"
            ),
        ),
        (
            {"subscribePattern": "a.*"},
            (
                "Several options name the topics to read: 'subscribe' is 'orders' and "
                f"'subscribePattern' is 'a.*'. {ONE_SOURCE}"
            ),
        ),
        # Where to start.
        *(
            (
                {"startingOffsets": given},
                f"Option 'startingOffsets' is {given!r}, which {why}. Allowed: {STARTING}",
            )
            for given, why in [
                ("", "is neither a word known here nor a JSON object"),
                ("smallest", "is neither a word known here nor a JSON object"),
                (
                    "{",
                    (
                        "is not JSON (Expecting property name enclosed in double quotes at "
                        "character 2)"
                    ),
                ),
                ("{}", "is not a JSON object of topics and their partitions"),
                ('{"orders": [1]}', "gives 'orders' [1], not an object of partitions"),
                ('{"orders": {}}', "gives 'orders' {}, not an object of partitions"),
                ('{"orders": {"-1": 0}}', "names the partition '-1' of 'orders'"),
                ('{"orders": {"01": 0}}', "names the partition '01' of 'orders'"),
                ('{"orders": {"x": 0}}', "names the partition 'x' of 'orders'"),
                ('{"orders": {"0": -3}}', "gives the offset -3 for orders-0"),
                ('{"orders": {"0": 1.5}}', "gives the offset 1.5 for orders-0"),
                ('{"orders": {"0": "1"}}', 'gives the offset "1" for orders-0'),
                ('{"orders": {"0": null}}', "gives the offset null for orders-0"),
                ('{"orders": {"0": NaN}}', "gives the offset NaN for orders-0"),
                (f'{{"orders": {{"0": {2**63}}}}}', f"gives the offset {2**63} for orders-0"),
                ('{"orders": {"0": 1, "0": 2}}', "names something twice"),
                ('{"a/b": {"0": 1}}', "names the topic 'a/b', which has the character '/' in it"),
            ]
        ),
        (
            {"startingOffsets": '{"orders": {"0": 1}, "other": {"0": 1}}'},
            (
                'Option \'startingOffsets\' is \'{"orders": {"0": 1}, "other": {"0": 1}}\', which '
                "names 'other', but 'subscribe' is 'orders'. Name only topics that are read"
            ),
        ),
        # Servers.
        (
            {"zookeeper.connect": "zk1:2181/a,zk2:2181/a"},
            (
                "Option 'zookeeper.connect' is 'zk1:2181/a,zk2:2181/a', which has a chroot "
                "in front "
                f"of a comma; the chroot follows the last server, once for all. Allowed: {CONNECT}"
            ),
        ),
        (
            {"kafka.bootstrap.servers": "k1"},
            (
                "Option 'kafka.bootstrap.servers' is 'k1', which has the address 'k1' "
                "without a port. Allowed: host:port "
                "addresses, separated by commas (IPv6 as [::1]:9092)"
            ),
        ),
        (
            {"checkpointLocation": "s3://bucket/x"},
            (
                "Option 'checkpointLocation' is 's3://bucket/x', which is not a path that "
                "Python on "
                "the driver can open. Allowed: a path that the driver can open, such as "
                "a mount, or a file: or dbfs: address"
            ),
        ),
        # What does not go together.
        (
            {"zookeeper.set.acl": "true"},
            (
                "Option 'zookeeper.set.acl' is 'true', but 'zookeeper.auth' is not given. "
                "Give 'zookeeper.auth' too, or 'zookeeper.sasl.jaas.config', or a client "
                "certificate: nodes can be kept for those alone who authenticate"
            ),
        ),
        (
            {"fetch.wait.max.ms": "50", "kafka.request.timeout.ms": "50"},
            (
                "Option 'fetch.wait.max.ms' is '50', but 'kafka.request.timeout.ms' is '50'. "
                "A broker must answer before it is given up: make the first less than the second"
            ),
        ),
    ],
)
def test_the_message(options: dict[str, Any], message: str) -> None:
    assert refusal({**LEAST, **options}) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"subscribePattern": "a.*", "excludePattern": "b"},
            (
                "Several options name the topics to read: 'subscribePattern' is 'a.*' and "
                f"'excludePattern' is 'b'. {ONE_SOURCE}"
            ),
        ),
        (
            {"subscribePattern": " "},
            (
                "Option 'subscribePattern' is ' ', which is empty. "
                "Allowed: one regular expression that matches whole topic names"
            ),
        ),
        (
            {"excludePattern": "' '"},
            (
                "Option 'excludePattern' is \"' '\", which is empty without blanks and quotes. "
                "Allowed: one regular expression that matches whole topic names"
            ),
        ),
        (
            {"subscribePattern": "a.*", "topic.threads": '{"a1": 2}'},
            (
                "Option 'topic.threads' is '{\"a1\": 2}', but 'subscribePattern' is 'a.*'. "
                "With a pattern, 'threads' holds for every topic: leave 'topic.threads' out"
            ),
        ),
        (
            {"subscribePattern": "a.*", "startingOffsets": '{"b1": {"0": 1}}'},
            (
                "Option 'startingOffsets' is '{\"b1\": {\"0\": 1}}', which names 'b1', but "
                "'subscribePattern' is 'a.*'. Name only topics that are read"
            ),
        ),
        (
            {"excludePattern": "a.*", "startingOffsets": '{"a1": {"0": 1}}'},
            (
                "Option 'startingOffsets' is '{\"a1\": {\"0\": 1}}', which names 'a1', but "
                "'excludePattern' is 'a.*'. Name only topics that are read"
            ),
        ),
    ],
)
def test_the_message_about_sources_of_topics(options: dict[str, Any], message: str) -> None:
    assert refusal({**WITHOUT_TOPICS, **options}) == message


@pytest.mark.parametrize("name", ["subscribePattern", "excludePattern"])
def test_a_pattern_that_is_no_regular_expression(name: str) -> None:
    message = refusal({**WITHOUT_TOPICS, name: "a(b"})
    assert message.startswith(f"Option {name!r} is 'a(b': 'a(b' is not a regular expression: ")
    assert message.endswith("Allowed: one regular expression that matches whole topic names")


@pytest.mark.parametrize("pattern", [r"(?P<a>x)", r"[a&&b]", r"\h+"])
def test_a_pattern_that_members_would_not_read_alike_is_refused(pattern: str) -> None:
    message = refusal({**WITHOUT_TOPICS, "subscribePattern": pattern})
    assert message.startswith(f"Option 'subscribePattern' is {pattern!r}")
