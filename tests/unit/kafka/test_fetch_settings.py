from __future__ import annotations

import pickle
from typing import Any

import pytest

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings

MIB = 1 << 20


def test_settings_travel_and_are_a_key() -> None:
    settings = FetchSettings(("a:1", "[::1]:2"), client_id="c", fetch_bytes_max=5)
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert hash(again) == hash(settings)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"bootstrap": ("a",)}, "not host:port: 'a'"),
        ({"bootstrap": ("a:0",)}, "not host:port"),
        ({"bootstrap": ("a:65536",)}, "not host:port"),
        ({"bootstrap": ("a:1,b:2",)}, "not host:port"),
        ({"fetch_bytes_max": 0}, "fetch_bytes_max must be above 0"),
        ({"fetch_bytes_max": 2**31}, "end at 2147483647"),
        ({"batch_rows_max": 0}, "batch_rows_max"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"fetch_wait_max_ms": 30_000}, "below request_timeout_ms"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        FetchSettings(**{"bootstrap": ("a:1",), **wrong})


def test_no_cluster_is_asked_without_a_broker() -> None:
    with pytest.raises(ValueError, match="no broker is named"):
        Cluster(FetchSettings())


@pytest.mark.parametrize(
    ("fetch_bytes_max", "largest"),
    [(1, 256 * MIB), (MIB, 256 * MIB), (500 * MIB, 1000 * MIB), (2**31 - 1, 2**31 - 1)],
)
def test_the_largest_batch_grows_with_the_fetch_size(fetch_bytes_max: int, largest: int) -> None:
    settings = FetchSettings(("a:1",), fetch_bytes_max=fetch_bytes_max)
    assert settings.record_batch_bytes_max == largest
