"""What tasks receive about the brokers, from the options of the reader."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import metadata
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.cluster_view import ClusterView
from tests.fakes.kafka import FakeKafka
from tests.fakes.still_clock import StillClock
from tests.fakes.wire_cluster import WireCluster, wire_id
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


def test_a_task_waits_for_two_minutes_by_default() -> None:
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


class WiredView(ClusterView):
    """Of brokers that answer over the wire at once."""

    def __init__(self, kafka: FakeKafka, clock: StillClock) -> None:
        super().__init__(parse(NAMED), clock)
        settings, clock_ = self.fetch_settings(), clock
        self.wire = WireCluster(kafka, settings, clock_, lambda _: None, lambda: True, "view")

    def _connected(self) -> Cluster:
        return self.wire  # type: ignore[return-value]


def test_the_id_of_a_newly_held_topic_is_not_older_than_a_second() -> None:
    """1. The member holds P1 and knows its leader. 2. The topic is recreated while another member
    holds it. 3. A look at P0 asks for ids. 4. Within the same second P1 is claimed again: with the
    leader as it was known, the plan would name the old topic, and its tasks would find all its
    records lost.
    """
    clock, kafka = StillClock(), FakeKafka()
    kafka.make_topic("s", 1)
    kafka.make_topic("t", 1)
    p0, p1 = TopicPartition("s", 0), TopicPartition("t", 0)
    view = WiredView(kafka, clock)
    clock.now += 2
    before = view.log_ends([p1])[p1].mark.topic_id
    assert before == wire_id("t", kafka.lives["t"])
    kafka.delete_topic("t")
    kafka.make_topic("t", 1)
    clock.now += 2
    view.log_ends([p0])
    clock.now += 0.5
    assert view.log_ends([p0, p1])[p1].mark.topic_id == wire_id("t", kafka.lives["t"]) != before


def test_brokers_are_only_asked_about_named_topics_that_are_not_in_their_list() -> None:
    """Each question costs a round trip, and the list comes again and again."""
    kafka = FakeKafka()
    kafka.make_topic("t", 1)
    view = WiredView(kafka, StillClock())
    asked: list[Any] = []

    def read(_cluster: object, topics: list[str], **_: object) -> Any:
        asked.append(topics)
        return SimpleNamespace(missing={})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "read", read)
        named = {topic for topic, _ in view._options.topics.subscription.entries}
        view._refuse_hidden(named)
        assert asked == []
        view._refuse_hidden([])
        assert asked == [sorted(named)]
