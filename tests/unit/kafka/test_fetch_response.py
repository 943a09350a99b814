"""Taken apart here and by kafka-python's generated classes, an answer is the same."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer import FetchResponse as Foreign

from pyspark_zkgroup.kafka.fetch_response import (
    VERSION_MAX,
    FetchResponse,
    PartitionData,
    ResponseError,
    parse,
)
from pyspark_zkgroup.model import AbortedTransaction

TOPIC = Foreign.FetchableTopicResponse
PARTITION = TOPIC.PartitionData


def partition(number: int, records: bytes | None, aborted: Any = None, error: int = 0) -> Any:
    return PARTITION(
        partition_index=number,
        error_code=error,
        high_watermark=100 + number,
        last_stable_offset=90 + number,
        log_start_offset=5,
        aborted_transactions=aborted,
        preferred_read_replica=-1,
        records=records,
    )


def answer() -> Any:
    aborted = [PARTITION.AbortedTransaction(producer_id=3, first_offset=n) for n in (40, 60)]
    return Foreign(
        throttle_time_ms=250,
        error_code=9,
        session_id=0,
        responses=[
            TOPIC(topic="größe", partitions=[partition(0, b"abc", aborted), partition(1, None)]),
            TOPIC(topic="t", partitions=[partition(2, b"", [], error=6)]),
        ],
    )


def encoded(version: int) -> bytes:
    return bytes(answer().encode(version=version))


@pytest.mark.parametrize("version", range(VERSION_MAX + 1))
def test_every_version(version: int) -> None:
    found = parse(memoryview(encoded(version)), version)
    aborted = tuple(AbortedTransaction(3, n) for n in (40, 60)) if version >= 4 else ()

    def expected(topic: str, number: int, **others: Any) -> PartitionData:
        stable = 90 + number if version >= 4 else -1
        given = {"error_code": 0, "high_watermark": 100 + number, "last_stable_offset": stable}
        return PartitionData(topic, number, **{**given, **others})

    assert found == FetchResponse(
        throttle_time_ms=250 if version >= 1 else 0,
        error_code=9 if version >= 7 else 0,
        partitions=(
            expected("größe", 0, aborted=aborted, records=memoryview(b"abc")),
            expected("größe", 1),
            expected("t", 2, error_code=6),
        ),
    )


def test_records_are_not_copied() -> None:
    data = encoded(11)
    found = parse(memoryview(data), 11)
    assert found.partitions[0].records.obj is data


@pytest.mark.parametrize("version", range(VERSION_MAX + 1))
def test_cut_short_at_any_byte(version: int) -> None:
    data = encoded(version)
    for size in range(len(data)):
        with pytest.raises(ResponseError):
            parse(memoryview(data)[:size], version)
    with pytest.raises(ResponseError, match="1 bytes after its end"):
        parse(memoryview(data + b"\0"), version)


@pytest.mark.parametrize("version", range(VERSION_MAX + 1))
def test_any_byte_that_lies_is_an_error_or_another_answer(version: int) -> None:
    """Never anything else, and never more than there is."""
    data = encoded(version)
    for at in range(len(data)):
        for lie in (0x00, 0x7F, 0x80, 0xFF):
            changed = memoryview(data[:at] + bytes([lie]) + data[at + 1 :])
            try:
                found = parse(changed, version)
            except ResponseError:
                continue
            assert sum(len(p.records) for p in found.partitions) <= len(data)


def test_a_version_of_another_form_is_refused() -> None:
    with pytest.raises(ResponseError, match="version 12"):
        parse(memoryview(b""), 12)
