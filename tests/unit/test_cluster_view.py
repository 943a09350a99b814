"""What tasks are told of the brokers, from the options of the reader."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.cluster_view import ClusterView
from tests.harness.given_options import LEAST

NAMED = {**LEAST, "kafka.bootstrap.servers": "k1:9092"}


def settings(**options: str) -> FetchSettings:
    return ClusterView(parse({**NAMED, **options})).fetch_settings()


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("kafka.bootstrap.servers", "k2:1,k3:2", {"bootstrap": ("k2:1", "k3:2")}),
        ("client.id", "me", {"client_id": "me"}),
        ("kafka.max.partition.fetch.bytes", "5", {"fetch_bytes_max": 5}),
        ("kafka.fetch.max.bytes", "5", {"response_bytes_max": 5}),
        ("kafka.fetch.max.wait.ms", "5", {"fetch_wait_max_ms": 5}),
        ("kafka.request.timeout.ms", "512", {"request_timeout_ms": 512}),
        ("kafka.isolation.level", "read_committed", {"isolation": "read_committed"}),
        ("failOnDataLoss", "false", {"fail_on_data_loss": False}),
        ("kafkaConsumer.pollTimeoutMs", "512", {"deadline_s": 0.512}),
        ("fetchOffset.numRetries", "3", {"client": ClientSettings(look_up_retries=3)}),
    ],
)
def test_an_option_reaches_the_tasks(option: str, text: str, expected: dict[str, Any]) -> None:
    assert settings(**{option: text}) == dataclasses.replace(settings(), **expected)


def test_a_task_waits_for_two_minutes_unless_it_is_told_otherwise() -> None:
    assert settings().deadline_s == 120


def test_brokers_come_from_zookeeper_where_none_are_named() -> None:
    view = ClusterView(parse(LEAST))
    with pytest.raises(ServerError, match="none has registered in ZooKeeper"):
        view.fetch_settings()
    view.found(["k9:9092"])
    assert view.fetch_settings().bootstrap == ("k9:9092",)
    named = ClusterView(parse(NAMED))
    named.found(["k9:9092"])
    assert named.fetch_settings().bootstrap == ("k1:9092",)
