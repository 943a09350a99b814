"""What Spark's own suites ask of options together, where a group member reads them."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.missing import Use
from pyspark_zkgroup.ranges.positions import Starting, StartingOffsets, StartingTimes
from tests.harness.given_options import WITHOUT_TOPICS

P0, P1 = (TopicPartition("orders", n) for n in range(2))
WAYS = {
    "subscribe": "orders",
    "subscribePattern": "ord.*",
    "assign": '{"orders": [0, 1]}',
}
STARTS: list[tuple[dict[str, str], Starting]] = [
    ({"startingOffsets": "latest"}, StartingOffsets("latest")),
    ({"startingOffsets": "earliest"}, StartingOffsets("earliest")),
    (
        {"startingOffsets": '{"orders": {"0": -2, "1": 7}}'},
        StartingOffsets(None, ((P0, -2), (P1, 7))),
    ),
    (
        {"startingOffsetsByTimestamp": '{"orders": {"0": 17, "1": 18}}'},
        StartingTimes(None, ((P0, 17), (P1, 18))),
    ),
    ({"startingTimestamp": "17"}, StartingTimes(17)),
]


@pytest.mark.parametrize("fail", ["true", "false"])
@pytest.mark.parametrize(("start", "expected"), STARTS)
@pytest.mark.parametrize("way", WAYS)
def test_every_start_goes_with_every_way_of_naming_topics(
    way: str, start: dict[str, str], expected: Starting, fail: str
) -> None:
    found = parse({**WITHOUT_TOPICS, way: WAYS[way], **start, "failOnDataLoss": fail})
    assert found.starting == expected
    assert found.fetch.fail_on_data_loss == (fail == "true")
    assert found.topics.assigned == ((P0, P1) if way == "assign" else ())


def refusal(options: dict[str, str], use: Use = "stream") -> str:
    with pytest.raises(OptionError) as caught:
        parse({**WITHOUT_TOPICS, **options}, use)
    return f"{caught.value}"


@pytest.mark.parametrize("use", ["stream", "batch"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Option 'subscribe' (or "),
        ({"subscribe": "t", "subscribePattern": "t.*"}, "Several options name the topics"),
        ({"subscribe": "t", "assign": '{"a":[0]}'}, "Several options name the topics"),
        ({"assign": ""}, "Option 'assign' is '', which is not JSON"),
        ({"assign": "{}"}, "Option 'assign' is '{}', which "),
        ({"assign": '{"t": []}'}, "Option 'assign' is '{\"t\": []}', which "),
        ({"assign": '{"t": ["0"]}'}, "Option 'assign' is '{\"t\": [\"0\"]}', which "),
        ({"subscribe": ""}, "Option 'subscribe' is '', which names no topic"),
        ({"subscribePattern": ""}, "Option 'subscribePattern' is '', which is empty"),
        (
            {"subscribe": "t", "kafka.isolation.level": "intentionally_invalid"},
            "which is not an allowed value. Allowed: read_uncommitted or read_committed",
        ),
    ],
)
def test_what_is_wrong_in_streams_and_in_batch_reads(
    use: Use, options: dict[str, str], said: str
) -> None:
    assert said in refusal(options, use)


@pytest.mark.parametrize(
    "option", ["startingOffsets", "startingOffsetsByTimestamp", "endingOffsets"]
)
@pytest.mark.parametrize("text", ['"earliest"', '{"t": "first"}', '{"t": [0, 1]}', "not json"])
def test_what_is_no_position(option: str, text: str) -> None:
    assert f"Option {option!r} is {text!r}, which " in refusal(
        {"subscribe": "t", option: text}, "batch"
    )


@pytest.mark.parametrize("word", ["earliest", "latest"])
def test_a_word_for_a_whole_topic_is_not_known(word: str) -> None:
    """Newer versions of Spark's source accept it; zkgroup refuses it."""
    message = refusal({"subscribe": "orders", "startingOffsets": f'{{"orders": "{word}"}}'})
    assert f"gives 'orders' \"{word}\", not an object of partitions" in message


@pytest.mark.parametrize(
    "name", ["databricks.serviceCredential", "bytesEstimateWindowLength", "maxPartitions"]
)
def test_names_of_other_platforms_are_unknown(name: str) -> None:
    message = refusal({"subscribe": "t", name: "5"})
    assert message.startswith(f"[ZKG-001] Option {name!r} (given ")
    assert ") is unknown. " in message
