"""Where reading starts and ends: the options together, in a stream and in a batch read."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.missing import Use
from pyspark_zkgroup.ranges.endings import TO_LATEST, EndingOffsets, EndingTimes
from pyspark_zkgroup.ranges.positions import LATEST, Starting, StartingOffsets, StartingTimes
from tests.harness.given_options import LEAST

P0 = TopicPartition("orders", 0)
BATCH = {"zookeeper.connect": "zk1", "subscribe": "orders"}
BY_TIME = {"startingOffsetsByTimestamp": '{"orders": {"0": 5}}'}
TIMES = 'a JSON object such as {"orders": {"0": 1767225600000}} with milliseconds since 1970'
OFFSETS = (
    'latest, or a JSON object such as {"orders": {"0": 50, "1": -1}} with the first offset that is '
    "not read, or -1 for latest"
)


def refusal(use: Use, options: dict[str, str]) -> str:
    with pytest.raises(OptionError) as caught:
        parse({**(LEAST if use == "stream" else BATCH), **options}, use)
    return f"{caught.value}".removeprefix("[ZKG-001] ")


@pytest.mark.parametrize("use", ["stream", "batch"])
def test_the_time_for_all_goes_before_times_and_these_before_offsets(use: Use) -> None:
    def starting(**options: str) -> Starting:
        return parse({**LEAST, **options}, use).starting

    offsets = {"startingOffsets": "earliest"}
    assert starting(startingTimestamp="7", **BY_TIME, **offsets) == StartingTimes(7)
    assert starting(**BY_TIME, **offsets) == StartingTimes(None, ((P0, 5),))
    assert starting(**offsets) == StartingOffsets("earliest")
    strategy = {"startingOffsetsByTimestampStrategy": "Latest"}
    assert starting(startingTimestamp="7", **strategy) == StartingTimes(7, unmatched="latest")
    assert starting(**BY_TIME, **strategy) == StartingTimes(None, ((P0, 5),), "latest")


def test_ends() -> None:
    def ending(**options: str) -> Any:
        return parse({**BATCH, **options}, "batch").batch_read.ending

    by_time = {"endingOffsetsByTimestamp": '{"orders": {"0": 5}}'}
    offsets = {"endingOffsets": '{"orders": {"0": -1}}'}
    assert ending() == TO_LATEST
    assert ending(endingOffsets="Latest") == TO_LATEST
    assert ending(**offsets) == EndingOffsets(((P0, LATEST),))
    assert ending(**by_time, **offsets) == EndingTimes(None, ((P0, 5),))
    assert ending(endingTimestamp="7", **by_time, **offsets) == EndingTimes(7)


def test_a_batch_read_starts_at_earliest_and_needs_no_group() -> None:
    found = parse(BATCH, "batch")
    assert found.starting == StartingOffsets("earliest")
    assert (found.group.id, found.fetch.client_id) == ("", "zkgroup")
    assert parse({**BATCH, "group.id": "billing"}, "batch").group.id == "billing"
    assert parse(LEAST).starting == StartingOffsets("latest")


def test_at_load_it_is_unknown_whether_it_is_a_stream_or_a_batch_read() -> None:
    for options in ({"endingOffsets": "latest"}, {"startingOffsets": "latest"}, {"member.id": "a"}):
        parse({**BATCH, **options}, "either")
    with pytest.raises(OptionError, match=r"'group\.id' is missing"):
        parse(BATCH, "stream")


def test_options_of_a_stream_that_a_batch_read_warns_of() -> None:
    options = {"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "2", "maxTriggerDelay": "9s"}
    assert parse({**LEAST, **options}).batch_read.ignored == ()
    assert sorted(parse({**BATCH, **options}, "batch").batch_read.ignored) == [
        "'maxOffsetsPerTrigger' is '5'",
        "'maxTriggerDelay' is '9s'",
        "'minOffsetsPerTrigger' is '2'",
    ]


NO_END = (
    "but a stream has no end, and Spark pushes no filters into it. Leave it out of readStream, or "
    "use spark.read. A query with trigger(availableNow=True) ends at today's end"
)
NO_GROUP = (
    "but a batch read joins no group, commits nothing and looks at the topics once. "
    "Leave it out of spark.read"
)
AT_LATEST = (
    "but a batch read that starts at latest reads nothing. Give earliest, offsets, or a time"
)


@pytest.mark.parametrize(
    ("use", "options", "message"),
    [
        *(
            ("stream", {name: text}, f"Option '{name}' is {text!r}, {NO_END}")
            for name, text in [
                ("endingOffsets", "latest"),
                ("endingTimestamp", "5"),
                ("endingOffsetsByTimestamp", '{"orders": {"0": 5}}'),
                ("pushFilters", "false"),
            ]
        ),
        *(
            ("batch", {name: text}, f"Option '{name}' is {text!r}, {NO_GROUP}")
            for name, text in [
                ("member.id", "one"),
                ("consumer.id", "one"),
                ("checkpointLocation", "/data/c"),
                ("partition.assignment.strategy", "range"),
                ("partition.assignment.order", "new"),
                ("rebalance.wait.ms", "5"),
                ("max.poll.interval.ms", "5"),
                ("zookeeper.set.acl", "false"),
                ("metadata.refresh.ms", "500"),
            ]
        ),
        *(
            ("batch", {name: text}, f"Option '{name}' is {text!r}, {AT_LATEST}")
            for name, text in [
                ("startingOffsets", "latest"),
                ("startingOffsets", '{"orders": {"0": 4, "1": -1}}'),
                ("auto.offset.reset", "largest"),
            ]
        ),
        (
            "batch",
            {"endingOffsets": "earliest"},
            f"Option 'endingOffsets' is 'earliest', which would leave nothing to read. "
            f"Allowed: {OFFSETS}",
        ),
        (
            "batch",
            {"endingOffsets": '{"orders": {"0": -2}}'},
            "Option 'endingOffsets' is '{\"orders\": {\"0\": -2}}', which gives the offset -2 for "
            f"orders-0. Allowed: {OFFSETS}",
        ),
        (
            "batch",
            {"endingOffsets": "none"},
            "Option 'endingOffsets' is 'none', which is neither a word known here nor a JSON "
            f"object. Allowed: {OFFSETS}",
        ),
        (
            "stream",
            {"startingOffsetsByTimestamp": '{"orders": {"0": -2}}'},
            "Option 'startingOffsetsByTimestamp' is '{\"orders\": {\"0\": -2}}', which gives the "
            f"time -2 for orders-0. Allowed: {TIMES}",
        ),
        (
            "stream",
            {"startingTimestamp": "yesterday"},
            "Option 'startingTimestamp' is 'yesterday', which is not a whole number. Allowed: "
            "a whole number of milliseconds since 1970 from 0 to 9223372036854775807",
        ),
        (
            "stream",
            {"startingOffsetsByTimestampStrategy": "earliest", "startingTimestamp": "5"},
            "Option 'startingOffsetsByTimestampStrategy' is 'earliest', which is not an allowed "
            "value. Allowed: error or latest",
        ),
        (
            "stream",
            {"startingOffsetsByTimestampStrategy": "latest"},
            "Option 'startingOffsetsByTimestampStrategy' is 'latest', but no starting time is "
            "given. Give 'startingTimestamp' or 'startingOffsetsByTimestamp' too, or leave it out",
        ),
        (
            "stream",
            {"startingOffsetsByTimestamp": '{"payments": {"0": 5}}'},
            "Option 'startingOffsetsByTimestamp' is '{\"payments\": {\"0\": 5}}', which names "
            "'payments', but 'subscribe' is 'orders'. Name only topics that are read",
        ),
        (
            "batch",
            {"endingOffsets": '{"payments": {"0": 5}}'},
            "Option 'endingOffsets' is '{\"payments\": {\"0\": 5}}', which names "
            "'payments', but 'subscribe' is 'orders'. Name only topics that are read",
        ),
        (
            "batch",
            {
                "startingOffsets": '{"orders": {"0": 1, "1": 1}}',
                "endingOffsets": '{"orders": {"0": 2}}',
            },
            "Option 'startingOffsets' is '{\"orders\": {\"0\": 1, \"1\": 1}}', but 'endingOffsets' "
            'is \'{"orders": {"0": 2}}\': only one of them names orders-1. '
            "Name the same partitions in both",
        ),
        (
            "batch",
            {
                "startingOffsets": '{"orders": {"0": 3}}',
                "endingOffsets": '{"orders": {"0": 2}}',
            },
            "Option 'startingOffsets' is '{\"orders\": {\"0\": 3}}', but 'endingOffsets' is "
            '\'{"orders": {"0": 2}}\': in orders-0, 3 is after the end. '
            "Set a start that is not after the end",
        ),
        (
            "batch",
            {**BY_TIME, "startingTimestamp": "6", "endingTimestamp": "5"},
            "Option 'startingTimestamp' is '6', but 'endingTimestamp' is '5'. "
            "Set a start that is not after the end",
        ),
        (
            "batch",
            {**BY_TIME, "endingOffsetsByTimestamp": '{"orders": {"0": 4}}'},
            "Option 'startingOffsetsByTimestamp' is '{\"orders\": {\"0\": 5}}', but "
            "'endingOffsetsByTimestamp' is '{\"orders\": {\"0\": 4}}': in orders-0, 5 is after the "
            "end. Set a start that is not after the end",
        ),
    ],
)
def test_what_is_refused(use: Use, options: dict[str, str], message: str) -> None:
    assert refusal(use, options) == message


def test_a_start_that_is_no_later_than_the_end() -> None:
    for start, end in ((2, 2), (2, 3), (-2, 0), (5, -1)):
        options = {
            "startingOffsets": f'{{"orders": {{"0": {start}}}}}',
            "endingOffsets": f'{{"orders": {{"0": {end}}}}}',
        }
        parse({**BATCH, **options}, "batch")
    parse({**BATCH, "startingTimestamp": "5", "endingTimestamp": "5"}, "batch")
    parse({**BATCH, "startingTimestamp": "5", "endingOffsets": '{"orders": {"0": 4}}'}, "batch")
