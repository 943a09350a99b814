"""What a membership relies on: real brokers and the simulation's brokers do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.planning import cluster_view
from pyspark_zkgroup.protocols.port import Brokers
from tests.contract.brokers_port import KINDS, Cluster, FakedCluster, RealCluster
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    made = KINDS[request.param](request)
    yield made
    made.close()


@pytest.fixture
def brokers(cluster: Cluster) -> Brokers:
    return cluster.view()


def soon(predicate: Callable[[], object]) -> None:
    wait_until(predicate, 20.0, "the brokers to answer so")


def parts(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, n) for n in range(count)]


def test_topics_come_grow_and_go(cluster: Cluster, brokers: Brokers, topic: str) -> None:
    assert topic not in brokers.partitions()
    cluster.create_topic(topic, 2)
    soon(lambda: brokers.partitions().get(topic) == (0, 1))
    cluster.grow(topic, 3)
    soon(lambda: brokers.partitions().get(topic) == (0, 1, 2))
    cluster.delete_topic(topic)
    soon(lambda: topic not in brokers.partitions())


def test_a_log_begins_and_ends_where_its_records_do(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 2)
    empty, filled = asked = parts(topic, 2)
    cluster.produce(filled, 5)
    assert brokers.latest(asked) == brokers.ends(asked) == {empty: 0, filled: 5}
    assert brokers.earliest(asked) == {empty: 0, filled: 0}
    cluster.lose_records(filled, 3)
    assert brokers.earliest(asked) == {empty: 0, filled: 3}
    assert brokers.latest(asked) == {empty: 0, filled: 5}
    cluster.lose_records(filled, 5)
    assert brokers.earliest([filled]) == brokers.latest([filled]) == {filled: 5}


def test_what_is_not_there_is_left_out_and_keeps_nothing_else_back(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 1)
    there, beyond = parts(topic, 2)
    asked = [there, beyond, TopicPartition("not-there", 0)]
    for ask in (brokers.earliest, brokers.latest, brokers.ends):
        assert ask(asked) == {there: 0}
    assert "not-there" not in brokers.partitions()


def test_a_partition_that_has_grown_is_answered_for(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 1)
    asked = parts(topic, 2)
    assert brokers.latest(asked).keys() == {asked[0]}
    cluster.grow(topic, 2)
    soon(lambda: brokers.latest(asked) == dict.fromkeys(asked, 0))


def test_a_recreated_topic_begins_at_zero(cluster: Cluster, brokers: Brokers, topic: str) -> None:
    cluster.create_topic(topic, 1)
    (only,) = parts(topic, 1)
    cluster.produce(only, 4)
    assert brokers.latest([only]) == {only: 4}
    cluster.delete_topic(topic)
    soon(lambda: not brokers.latest([only]))
    soon(lambda: topic not in brokers.partitions())
    cluster.create_topic(topic, 1)
    soon(lambda: brokers.latest([only]) == {only: 0})


def test_the_end_of_a_log_comes_with_its_topic_and_the_epoch_of_its_leader(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 1)
    (only,) = parts(topic, 1)
    cluster.produce(only, 3)
    end = brokers.log_ends([only])[only]
    assert (end.offset, end.mark.epoch, end.may_lag) == (3, 0, False)
    assert end.mark.topic_id
    assert brokers.epoch_ends({only: end.mark.epoch}) == {only: 3}


def test_a_recreated_topic_has_another_id_and_the_old_one_is_missing(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 1)
    (only,) = parts(topic, 1)
    cluster.produce(only, 3)
    before = brokers.log_ends([only])[only].mark.topic_id
    assert brokers.lacks({only: before}) == {}
    cluster.delete_topic(topic)
    cluster.create_topic(topic, 1)
    soon(lambda: brokers.lacks({only: before}) == {only: True})
    after = brokers.log_ends([only])[only].mark.topic_id
    assert after not in ("", before)
    assert brokers.lacks({only: after}) == {}


def test_a_partition_that_is_not_there_is_lacking_after_a_while(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 1)
    there, beyond = parts(topic, 2)
    soon(lambda: brokers.lacks({there: "", beyond: ""}) == {beyond: True})


def test_a_time_has_the_first_record_that_is_not_older(
    cluster: Cluster, brokers: Brokers, topic: str
) -> None:
    cluster.create_topic(topic, 2)
    empty, filled = parts(topic, 2)
    cluster.produce(filled, 4)
    assert brokers.at_times({empty: 0, filled: 0}) == {empty: None, filled: 0}
    assert brokers.at_times({filled: 2}) == {filled: 2}
    assert brokers.at_times({filled: 4}) == {filled: None}
    cluster.lose_records(filled, 3)
    assert brokers.at_times({filled: 1}) == {filled: 3}


def test_a_question_about_nothing_has_an_empty_answer(cluster: Cluster, brokers: Brokers) -> None:
    """A member that holds nothing sends no request, whichever broker is away."""
    away = cluster.cut_off()
    for asked in (brokers, away):
        assert asked.earliest([]) == asked.latest([]) == asked.ends([]) == {}


def test_brokers_that_are_away_are_an_error_that_names_a_remedy(
    cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_view, "_TIMEOUT_S", 1.0)
    monkeypatch.setattr(cluster_view, "_LATEST_TIMEOUT_S", 1.0)
    cluster.create_topic(topic, 1)
    away, asked = cluster.cut_off(), parts(topic, 1)
    for ask in (
        away.partitions,
        lambda: away.earliest(asked),
        lambda: away.latest(asked),
        lambda: away.ends(asked),
    ):
        with pytest.raises(ServerError) as caught:
            ask()
        assert caught.value.remedy


def leave_one_leaderless(cluster: Cluster, topic: str) -> set[TopicPartition]:
    """Return the partitions that still have a leader."""
    asked = set(parts(topic, 2))
    if isinstance(cluster, FakedCluster):
        gone = TopicPartition(topic, 1)
        cluster.kafka.logs[gone].has_leader = False
        return asked - {gone}
    assert isinstance(cluster, RealCluster)
    cluster.sandbox.brokers[1].kill()
    return set()


def away_is_left_out(cluster: Cluster, topic: str) -> None:
    brokers = cluster.view()
    cluster.create_topic(topic, 2)
    asked = parts(topic, 2)
    soon(lambda: brokers.latest(asked).keys() == set(asked))
    expected = leave_one_leaderless(cluster, topic)
    for ask in (brokers.latest, brokers.ends, brokers.earliest):
        found = ask(asked).keys()
        assert len(found) == 1
        assert found == (expected or found)
    assert brokers.partitions()[topic] == (0, 1)


def test_a_partition_without_a_leader_is_left_out_of_the_answer(topic: str) -> None:
    away_is_left_out(FakedCluster(), topic)


@pytest.mark.long
def test_a_partition_whose_only_broker_is_away_is_left_out_of_the_answer(
    new_sandbox: Callable[..., Sandbox], topic: str
) -> None:
    cluster = RealCluster(new_sandbox(brokers=2, kafka="3.9"))
    try:
        away_is_left_out(cluster, topic)
    finally:
        cluster.close()
