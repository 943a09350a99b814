"""Error codes of the brokers that once lost records, had them read without end, or gave a false
report, each as the events that led to it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka import requests as kafka_requests
from pyspark_zkgroup.protocols.kafka.refusals import refused
from tests.fakes.group_refusals import Odd
from tests.sim.brokered.member import BrokeredDriver, brokered
from tests.sim.brokered.trace import BrokeredTrace
from tests.sim.query import SinkKind
from tests.sim.trace import TOPIC

FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
FOR_NOW = (
    codes.COORDINATOR_LOAD_IN_PROGRESS,
    codes.NOT_COORDINATOR,
    codes.COORDINATOR_NOT_AVAILABLE,
    codes.REBALANCE_IN_PROGRESS,
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def answer(trace: BrokeredTrace, driver: BrokeredDriver, odd: Odd) -> None:
    trace.coordinator.refusals.odd[driver.number] = odd


def go_until_logged(trace: BrokeredTrace, driver: BrokeredDriver, number: int) -> None:
    trace.go_until(lambda: len(driver.query.batches) > number)


def begin_first_batch(trace: BrokeredTrace, sink: SinkKind = "append") -> BrokeredDriver:
    """Done, and not committed yet."""
    driver = trace.begin(trace.query("a", sink=sink))
    batches = driver.query.batches
    trace.go_until(lambda: bool(batches) and batches[0].finished)
    assert trace.committed() == 0
    return driver


@pytest.mark.parametrize("code", FOR_NOW, ids=codes.named)
@pytest.mark.parametrize("sink", ["append", "by batch id"])
def test_two_drivers_after_a_commit_that_was_refused_for_now(code: int, sink: SinkKind) -> None:
    """Batch 0 is done, and its commit is refused for the moment, so that batch 1 is planned while
    the group holds the offset before batch 0. A1 is paused beyond its session when batch 1 is
    logged; A2 replays it, and the sink takes it from A2. A1 wakes up, and the sink skips its batch.
    """
    with BrokeredTrace(partitions=1) as trace:
        first = begin_first_batch(trace, sink)
        query = first.query
        query.twins = True
        answer(trace, first, Odd("commit", code))
        trace.produce_each(5)
        trace.at(first.process, "spark logged", lambda: first.process.pause(20.0))
        go_until_logged(trace, first, 1)
        assert trace.committed() == 0
        trace.go(0.5)
        second = trace.begin(query)
        trace.go_until(lambda: query.batches[1].finished)
        assert (second.gone, trace.counts["range left out"]) == (False, 0)
        trace.go(15.0)
        trace.kafka.produce(FIRST, 5)
        trace.read_all()


@pytest.mark.parametrize("code", [7, 15, 16, -1, 9999])
@pytest.mark.parametrize("executed", [True, False])
def test_a_restart_after_a_commit_that_may_have_been_done(code: int, executed: bool) -> None:
    """The plan names both writes, so that its replay finds either."""
    with BrokeredTrace(partitions=1) as trace:
        first = begin_first_batch(trace)
        answer(trace, first, Odd("commit", code, executed))
        trace.produce_each(5)
        trace.kill_at(first, "spark logged", skip=0)
        trace.go_until_gone(first)
        assert trace.committed() == (10 if executed else 0)
        trace.begin(first.query)
        trace.read_all()
        assert (trace.counts["range left out"], trace.counts["duplicate"]) == (0, 0)


def test_a_member_without_its_group_right_ends_and_another_reads_on() -> None:
    """Rights to the topics remain: it could read on permanently, at the same time as the member
    that has its share.
    """
    with BrokeredTrace(partitions=2) as trace:
        one, two = trace.query("a"), trace.query("b")
        first = trace.begin(one)
        trace.begin(two)
        trace.go(15.0)
        trace.coordinator.refusals.groups.add(first.number)
        trace.without_right.append(one)
        trace.produce()
        trace.go_until_gone(first)
        trace.go(20.0)
        assert trace.counts["query failed: AccessError"] + trace.counts["fatal: AccessError"] > 0
        refusal = brokered(first).kept.member
        assert refusal.refusal == codes.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("word", ["heartbeat", "commit", "fetch"])
def test_a_refusal_for_good_ends_the_query_whatever_it_answers(word: str) -> None:
    with BrokeredTrace(partitions=1) as trace:
        first = trace.begin(trace.query("a"))
        answer(trace, first, Odd(word, codes.GROUP_AUTHORIZATION_FAILED))
        trace.go(3.0)
        trace.produce_each(5)
        trace.go_until_gone(first)
        error = refused(brokered(first).kept.member, "g")
        assert isinstance(error, AccessError)
        assert "GROUP_AUTHORIZATION_FAILED (30)" in error.what


def test_what_one_partition_is_refused_for_hides_nothing_of_the_member() -> None:
    """The member was removed. Its commit is answered 3 for the first partition, and 25 for the
    second: it knows at once that it is out, and plans nothing under a lease.
    """
    with BrokeredTrace(partitions=2) as trace:
        first = begin_first_batch(trace)
        life = brokered(first).kept.member.life
        trace.coordinator.refusals.unknown.add(FIRST)
        answer(trace, first, Odd("commit", codes.UNKNOWN_MEMBER_ID, picks=lambda p: p == SECOND))
        trace.go_until(lambda: brokered(first).kept.member.life > life)
        assert not brokered(first).holdings.held
        trace.coordinator.refusals.unknown.clear()


def test_a_topic_that_may_not_be_read_any_more_ends_the_query() -> None:
    with BrokeredTrace(partitions=2) as trace:
        first = begin_first_batch(trace)
        trace.coordinator.refusals.topics.add((first.number, TOPIC))
        trace.go_until_gone(first)
        assert "may not read t0-0" in brokered(first).kept.member.fatal


def test_what_was_not_sent_any_more_is_in_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of more partitions than one request takes ends at the first part that is refused."""
    monkeypatch.setattr(kafka_requests, "_WRITES_MAX", 1)
    with BrokeredTrace(partitions=3) as trace:
        first = begin_first_batch(trace)
        answer(trace, first, Odd("commit", codes.COORDINATOR_LOAD_IN_PROGRESS))
        trace.go_until(lambda: trace.counts["commit: COORDINATOR_LOAD_IN_PROGRESS"] > 0)
        known = brokered(first).holdings.known
        assert [at.doubts for at in known.values()] == [(), (), ()]
        assert {at.current for at in known.values()} == {f"{at.fence}@0" for at in known.values()}


def test_a_partition_that_one_broker_does_not_know_stays_unsettled() -> None:
    """Its metadata lags. The batch is done; a successor would read it again."""
    with BrokeredTrace(partitions=2) as trace:
        first = begin_first_batch(trace)
        trace.coordinator.refusals.unknown.add(FIRST)
        trace.go_until(lambda: trace.committed(1) == 10)
        trace.go(8.0)
        assert brokered(first).unsettled
        assert trace.committed() == 0
        trace.coordinator.refusals.unknown.clear()
        trace.go_until(lambda: trace.committed() == 10)
        assert not brokered(first).unsettled
        assert trace.counts["duplicate"] == 0


def test_a_partition_that_is_gone_for_seconds_is_settled_without_a_commit() -> None:
    with BrokeredTrace(partitions=2) as trace:
        first = begin_first_batch(trace)
        del trace.kafka.logs[FIRST]
        began = trace.world.now
        trace.go_until(lambda: trace.committed(1) == 10)
        assert brokered(first).unsettled
        trace.go_until(lambda: FIRST not in brokered(first).holdings.held)
        assert trace.world.now - began >= 5.0
        assert not brokered(first).unsettled
