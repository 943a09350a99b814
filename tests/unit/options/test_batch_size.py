"""How much one batch takes, as it is asked for: times and sizes are read as Spark reads them."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.batch_size import BatchLimits
from pyspark_zkgroup.ranges.splitting import Splitting
from tests.harness.given_options import LEAST, refusal

DURATION = (
    "a whole number and a unit (us, ms, s, m or min, h, d), such as 30s or 15m; milliseconds "
    "without one"
)
SIZE = "a whole number from 1, of bytes or with a unit (b, k, m, g, t, p; kb is k), such as 256m"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0", 0),
        ("700", 700),
        ("250us", 0),
        ("2500us", 2),
        ("30ms", 30),
        ("5s", 5_000),
        ("15m", 900_000),
        (" 15MIN ", 900_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_a_delay(text: str, ms: int) -> None:
    options = parse({**LEAST, "minOffsetsPerTrigger": "7", "maxTriggerDelay": text})
    assert options.batches == BatchLimits(offsets_min=7, delay_max_ms=ms)


def test_the_delay_is_a_quarter_of_an_hour_by_default() -> None:
    assert parse({**LEAST, "minOffsetsPerTrigger": "7"}).batches.delay_max_ms == 15 * 60 * 1000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a whole number with a unit"),
        ("soon", "is not a whole number with a unit"),
        ("-1s", "is not a whole number with a unit"),
        ("1.5h", "is not a whole number with a unit"),
        ("5 s", "is not a whole number with a unit"),
        ("1h 30min", "is not a whole number with a unit"),
        ("٣s", "is not a whole number with a unit"),
        ("5 \u212a", "is not a whole number with a unit"),
        ("3w", "has the unknown unit 'w'"),
        ("5kb", "has the unknown unit 'kb'"),
        (f"{2**63}", "is out of range"),
        (f"{2**62}d", "is out of range"),
        ("9" * 5000, "is out of range"),
    ],
)
def test_what_is_no_delay(text: str, why: str) -> None:
    message = refusal({**LEAST, "minOffsetsPerTrigger": "7", "maxTriggerDelay": text})
    assert message.startswith("Option 'maxTriggerDelay' is '")
    assert message.endswith(f", which {why}. Allowed: {DURATION}")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("700b", 700),
        ("64k", 65_536),
        ("64kb", 65_536),
        ("10M", 10_485_760),
        ("2g", 2**31),
        ("1tb", 2**40),
        ("3p", 3 * 2**50),
    ],
)
def test_a_size(text: str, size: int) -> None:
    assert parse({**LEAST, "maxBytesPerTrigger": text}).batches == BatchLimits(bytes_max=size)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0", "is out of range"),
        ("0g", "is out of range"),
        ("8192p", "is out of range"),
        ("-5m", "is not a whole number with a unit"),
        ("1.5g", "is not a whole number with a unit"),
        ("10mib", "has the unknown unit 'mib'"),
    ],
)
def test_what_is_no_size(text: str, why: str) -> None:
    assert refusal({**LEAST, "maxBytesPerTrigger": text}) == (
        f"Option 'maxBytesPerTrigger' is {text!r}, which {why}. Allowed: {SIZE}"
    )


def test_all_of_them_together() -> None:
    options = parse(
        {
            **LEAST,
            "minOffsetsPerTrigger": "5",
            "maxOffsetsPerTrigger": "5",
            "maxTriggerDelay": "1s",
            "maxBytesPerTrigger": "1k",
            "minPartitions": "8",
            "maxRecordsPerPartition": "100",
        }
    )
    assert options.batches == BatchLimits(
        offsets_max=5,
        bytes_max=1024,
        offsets_min=5,
        delay_max_ms=1000,
        splitting=Splitting(tasks_min=8, rows_max=100),
    )


def test_more_at_the_least_than_at_the_most() -> None:
    wrong = {"minOffsetsPerTrigger": "15", "maxOffsetsPerTrigger": "10"}
    assert refusal({**LEAST, **wrong}) == (
        "Option 'minOffsetsPerTrigger' is '15', but 'maxOffsetsPerTrigger' is '10'. "
        "Make the first no greater than the second"
    )


def test_a_delay_of_nothing() -> None:
    assert refusal({**LEAST, "maxTriggerDelay": "5m"}) == (
        "Option 'maxTriggerDelay' is '5m', but 'minOffsetsPerTrigger' is not given. "
        "Give it too, or leave 'maxTriggerDelay' out: without it no batch is held back"
    )


@pytest.mark.parametrize(
    ("name", "high"),
    [
        ("minOffsetsPerTrigger", 2**63 - 1),
        ("maxRecordsPerPartition", 2**63 - 1),
        ("minPartitions", 2**31 - 1),
    ],
)
@pytest.mark.parametrize("text", ["0", "-1", "", "many", "1.0"])
def test_whole_numbers_from_one(name: str, high: int, text: str) -> None:
    message = refusal({**LEAST, name: text})
    assert message.startswith(f"Option {name!r} is {text!r}, which ")
    assert message.endswith(f"Allowed: a whole number from 1 to {high}")
