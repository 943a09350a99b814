"""How often and how long log ends are asked for, on a broker in this process that refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_zkgroup.kafka import offsets
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.model import TopicPartition
from tests.contract.fetching import TIMEOUT_S, settings_of
from tests.fakes.fetch_broker import FetchBroker

NOT_LEADER = 6
SILENT, TOLD = TopicPartition("t", 0), TopicPartition("t", 1)


class HesitantBroker(FetchBroker):
    """Denies being the leader of partition 0, this many times; None: always."""

    def __init__(self) -> None:
        super().__init__()
        self.hesitates: int | None = None
        self.asked: list[list[int]] = []

    def _offsets(self, request: Any) -> Any:
        response = super()._offsets(request)
        answers = [answer for topic in response.topics for answer in topic.partitions]
        self.asked.append([answer.partition_index for answer in answers])
        if self.hesitates is None or len(self.asked) <= self.hesitates:
            for answer in answers:
                if answer.partition_index == SILENT.partition:
                    answer.error_code = NOT_LEADER
        return response


@pytest.fixture
def broker() -> Iterator[HesitantBroker]:
    made = HesitantBroker()
    made.create_topic("t", 2)
    yield made
    made.close()


def ends(broker: HesitantBroker, **client: Any) -> tuple[dict[TopicPartition, int], float]:
    """Return the ends of both partitions, and the duration by the cluster's clock."""
    cluster = Cluster(settings_of(broker, client=ClientSettings(**client)))
    began = cluster.clock.monotonic()
    try:
        found = offsets.latest(cluster, [SILENT, TOLD], timeout_s=TIMEOUT_S)
        return found, cluster.clock.monotonic() - began
    finally:
        cluster.close()


@pytest.mark.parametrize("retries", [0, 3])
def test_who_does_not_answer_is_asked_again_so_many_times_and_then_left_out(
    broker: HesitantBroker, retries: int
) -> None:
    found, _ = ends(broker, look_up_retries=retries, look_up_pause_ms=0)
    assert found == {TOLD: 0}
    assert broker.asked == [[0, 1], *([[0]] * retries)]


def test_between_two_tries_it_waits_as_long_as_it_is_set(broker: HesitantBroker) -> None:
    broker.hesitates = 2
    found, took_s = ends(broker, look_up_retries=2, look_up_pause_ms=50)
    assert found == {SILENT: 0, TOLD: 0}
    assert 0.1 <= took_s < TIMEOUT_S


def test_without_a_number_it_asks_until_it_is_answered(broker: HesitantBroker) -> None:
    broker.hesitates = 6
    found, _ = ends(broker, retry_backoff_ms=1, retry_backoff_max_ms=1)
    assert found == {SILENT: 0, TOLD: 0}
    assert len(broker.asked) == 7
