"""Events on their way to the broker: batches as kafka-python reads them, and the offsets' sums."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.kafka_wire import parse_addresses
from zkgroup_sandbox.produce import Produced, json_event
from zkgroup_sandbox.record_batch import encode_batch

data = st.none() | st.binary(max_size=300) | st.integers(0, 20_000).map(bytes)


@given(events=st.lists(st.tuples(data, data), min_size=1, max_size=40))
def test_batch_is_read_by_kafka_python_as_it_was_meant(
    events: list[tuple[bytes | None, bytes | None]],
) -> None:
    encoded = encode_batch(
        events, timestamp_ms=1_700_000_000_123, producer_id=7, producer_epoch=1, first_sequence=9
    )
    batch = MemoryRecords(encoded).next_batch()
    assert batch is not None
    assert batch.validate_crc()
    assert batch.size_in_bytes == len(encoded)
    records = list(batch)
    assert [(r.key, r.value) for r in records] == events
    assert [r.offset for r in records] == list(range(len(events)))
    assert {r.timestamp for r in records} == {1_700_000_000_123}


def test_adjacent_ranges_become_one() -> None:
    produced = Produced("t")
    for partition, start, until in [(0, 0, 5), (1, 3, 4), (0, 5, 9), (0, 12, 13)]:
        produced.add(partition, start, until)
    assert produced.ranges == {0: [(0, 9), (12, 13)], 1: [(3, 4)]}
    assert produced.count == 11
    assert produced.end_offsets == {0: 13, 1: 4}
    assert list(produced.offsets())[-2:] == [("t", 0, 12), ("t", 1, 3)]
    copied = produced.copy()
    produced.add(1, 4, 5)
    assert copied.end_offsets == {0: 13, 1: 4}


def test_default_event_is_json_with_its_number() -> None:
    key, value = json_event(12)
    assert key == b"c028"
    assert value is not None
    assert json.loads(value)["event"] == 12


@pytest.mark.parametrize("text", ["", "localhost", "h:p", ":9", "a:1,,b:2"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(SandboxError, match="is not an address"):
        parse_addresses(text)


def test_addresses() -> None:
    assert parse_addresses("127.0.0.1:1, h:2") == [("127.0.0.1", 1), ("h", 2)]
