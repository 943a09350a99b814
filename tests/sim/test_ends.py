"""Every step at which a member can end: what another one or its successor then reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.sim.query import SinkKind
from tests.sim.trace import SINKS, SPARK, Trace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("step", SPARK)
@pytest.mark.parametrize("after_s", [0.05, 10.0], ids=["within the session", "after it"])
def test_f1_one_member_one_crash(sink: SinkKind, step: str, after_s: float) -> None:
    with Trace() as trace:
        a = trace.query("a", sink=sink)
        driver = trace.begin(a)
        trace.kill_at(driver, f"spark {step}")
        trace.go_until_gone(driver)
        trace.go(after_s)
        trace.begin(a)
        trace.read_all()
        assert trace.counts["range left out"] == 0


@pytest.mark.parametrize("step", SPARK)
def test_f7_a_stop_with_evidence_repeats_nothing(step: str) -> None:
    """Between the sink and Spark's log no member can know; elsewhere B begins where A ended."""
    with Trace() as trace:
        a, b = trace.query("a", evidence=True), trace.query("b")
        first = trace.begin(a)
        trace.at(first.process, f"spark {step}", first.stop)
        trace.go_until_gone(first)
        trace.begin(b)
        trace.read_all()
        assert trace.counts["duplicate"] == 0 or step == "sunk"


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("step", SPARK)
def test_the_planner_alone_is_killed(sink: SinkKind, step: str) -> None:
    with Trace() as trace:
        a, b = trace.query("a", sink=sink), trace.query("b")
        first = trace.begin(a)
        trace.begin(b)
        trace.at(first.process, f"spark {step}", lambda: first.process.kill(planner_only=True))
        trace.go_until_gone(first)
        trace.begin(a)
        trace.read_all()


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("skip", range(0, 40, 2))
def test_sigterm_at_every_step_of_a_boundary(skip: int, evidence: bool) -> None:
    with Trace() as trace:
        a, b = trace.query("a", evidence=evidence), trace.query("b")
        trace.begin(b)
        first = trace.begin(a)
        trace.go_until(lambda: trace.counts["boundary"] >= 4)
        trace.produce_each(5)
        trace.at(first.process, "", first.stop, skip)
        trace.go_until_gone(first)
        trace.read_all()


@pytest.mark.parametrize("seed", range(24))
def test_a_stop_in_a_commit_leaves_the_copy_in_kafka_up_to_date(seed: int) -> None:
    """SIGTERM arrives after ZooKeeper has executed a request and before the answer is handled. Of
    some seeds that request is the commit of a finished batch.
    """
    with Trace(partitions=2, seed=seed) as trace:
        first = trace.begin(trace.query("a", offsets_storage="kafka", evidence=True))
        trace.read_all()

        def stop_at_an_answer() -> None:
            trace.at(first.process, "answer", first.stop)

        trace.at(first.process, "multi", stop_at_an_answer)
        while not first.gone:
            trace.produce_each(1)
            trace.go(0.5)
        trace.checkers.copies.check()


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "kill -9"])
@pytest.mark.parametrize("skip", range(24))
def test_an_end_at_every_step_of_a_replay(skip: int, kill: bool) -> None:
    with Trace() as trace:
        a = trace.query("a", sink="by batch id")
        first = trace.begin(a)
        trace.kill_at(first, "spark read")
        trace.go_until_gone(first)
        second = trace.begin(a)
        trace.at(second.process, "", second.process.kill if kill else second.stop, skip)
        trace.go_until_gone(second)
        trace.begin(a)
        trace.read_all()
