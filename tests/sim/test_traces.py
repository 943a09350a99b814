"""The shortest traces that broke earlier readings of the rules: regressions by name, where the
seeds find by chance.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Create, Delete, SetData
from pyspark_zkgroup.model import TopicPartition
from tests.sim.query import Driver, SinkKind
from tests.sim.trace import SINKS, SPARK, TOPIC, Trace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_f1_a_jvm_member_has_it_for_a_moment() -> None:
    """A's batch is in flight, a JVM member claims, A leaves the range out and crashes again, and
    the JVM member dies before its first commit.
    """
    with Trace(partitions=1) as trace:
        a = trace.query("a")
        first = trace.begin(a)
        trace.kill_at(first, "spark logged")
        trace.go_until_gone(first)
        trace.new_jvm()
        (jvm,) = trace.cast.jvms
        partition = TopicPartition(TOPIC, 0)
        trace.go_until(
            lambda: bool(trace.checkers.owner.get(partition) in trace.checkers.jvm_sessions)
        )
        second = trace.begin(a)
        trace.kill_at(second, "spark finished")
        trace.at(jvm.process, "multi", jvm.process.kill)
        trace.go_until_gone(second)
        trace.go(10.0)
        jvm.process.kill()
        trace.begin(a)
        trace.read_all()


@pytest.mark.parametrize("sink", SINKS)
def test_f2_what_is_left_out_once_stays_out(sink: SinkKind) -> None:
    """Left out while B owns it, the crash comes before Spark's commit log, and B is gone when it is
    asked again.
    """
    with Trace() as trace:
        a, b = trace.query("a", sink=sink), trace.query("b")
        first = trace.begin(a)
        trace.kill_at(first, "spark logged")
        trace.go_until_gone(first)
        other = trace.begin(b)
        trace.go_until(lambda: len(trace.checkers.owner) == 4)
        trace.kill_at(other, "spark logged")
        second = trace.begin(a)
        trace.kill_at(second, "spark sunk")
        trace.go_until_gone(second)
        other.process.kill()
        trace.go(12.0)
        trace.begin(a)
        trace.read_all()


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("static", [False, True], ids=["new name", "static"])
@pytest.mark.parametrize("pause_s", [1.0, 12.0])
@pytest.mark.parametrize("step", ["logged", "read", "sunk"])
def test_f3_two_drivers_on_one_checkpoint(
    sink: SinkKind, static: bool, pause_s: float, step: str
) -> None:
    with Trace() as trace:
        a = trace.query("a", sink=sink, static=static)
        a.twins = True
        first = trace.begin(a)
        trace.at(first.process, f"spark {step}", lambda: first.process.pause(pause_s))
        trace.go_until(lambda: first.process.access.paused)
        trace.begin(a)
        trace.go(30.0)


@pytest.mark.parametrize("step", ["partitions", "read"])
def test_f3_a_replay_is_replayed_by_another(step: str) -> None:
    """A1 includes the range and is paused; A2 decides as A1 did, or A1's rows never reach the sink:
    that takes the first content of a batch and no other.
    """
    with Trace() as trace:
        a = trace.query("a", sink="by batch id")
        a.twins = True
        first = trace.begin(a)
        trace.kill_at(first, "spark logged")
        trace.go_until_gone(first)
        second = trace.begin(a)
        trace.at(second.process, f"spark {step}", lambda: second.process.pause(20.0))
        trace.go_until(lambda: second.process.access.paused)
        trace.begin(a)
        trace.go(40.0)


@pytest.mark.parametrize("fate", ["executed", "dropped"])
def test_a_move_between_own_threads_whose_answer_is_lost_is_made_in_the_end(fate: str) -> None:
    """Nothing is produced meanwhile, so no proof before a plan finds the owner node rewritten."""
    moved = TopicPartition(TOPIC, 2)
    with Trace(partitions=4) as trace:
        first = trace.begin(trace.query("z", threads="2"))
        trace.read_all()
        assert first.membership.holdings.held[moved].thread == 1
        trace.at(
            first.process,
            f"multi Check {trace.paths.offset(moved)}, SetData {trace.paths.owner(moved)}",
            lambda: setattr(first.process.access, "lose_next", fate),
        )
        trace.begin(trace.query("a"))
        trace.go_until(lambda: first.membership.holdings.held[moved].thread == 0, 30.0)
        trace.go(1.0)
        assert len(first.membership.holdings.held) == 2


@pytest.mark.parametrize("fate", ["executed", "dropped"])
@pytest.mark.parametrize("pause_s", [2.5, 12.0])
def test_f3_planned_on_while_a_commit_is_unanswered(fate: str, pause_s: float) -> None:
    """The fence may have been moved by A1's own commit when A1 plans on under its lease. A2 must
    not take that for another member's claim: its empty batch would be the one the sink takes.
    """
    with Trace(partitions=1) as trace:
        a = trace.query("a", sink="by batch id", interval_s=0.05)
        a.twins = True
        first = trace.begin(a)

        def lose() -> None:
            first.process.access.lose_next = fate  # type: ignore[assignment]
            trace.at(first.process, "kafka fetch", lambda: first.process.pause(pause_s))

        trace.at(first.process, "spark sunk", lambda: trace.produce_each(5))
        trace.at(first.process, "multi Check /consumers/g/owners/", lose, skip=1)
        trace.go_until(lambda: first.process.access.paused)
        assert trace.counts["batch"] == 2
        assert trace.counts["plan in doubt"] == (fate == "executed")
        trace.begin(a)
        trace.go(40.0)


@pytest.mark.parametrize("lag_s", [0.5, 2.0])
@pytest.mark.parametrize("step", ["logged", "sunk", "finished"])
def test_f4_a_lagging_follower_at_the_restart(lag_s: float, step: str) -> None:
    for seed in range(4):
        with Trace(followers=2, lag_s=lag_s, seed=seed) as trace:
            a = trace.query("a", sink="by batch id")
            driver = trace.begin(a)
            trace.kill_at(driver, f"spark {step}", skip=1)
            trace.go(3.0)
            trace.produce_each(5)
            trace.go_until_gone(driver)
            again = trace.begin(a)
            trace.kill_at(again, "spark sunk")
            trace.produce_each(5)
            trace.go_until_gone(again)
            trace.begin(a)
            trace.read_all()


@pytest.mark.parametrize("step", ["", "kafka latest"], ids=["idle", "between look and plan"])
def test_f5_an_expiry_while_nothing_is_to_be_committed(step: str) -> None:
    with Trace() as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)
        trace.read_all()
        trace.at(first.process, step, lambda: first.process.pause(12.0))
        trace.go_until(lambda: first.process.access.paused)
        trace.begin(b)
        trace.go(6.0)
        trace.produce_each(5)
        trace.go(20.0)
        trace.read_all()
        assert trace.counts["duplicate"] == 0


def test_f6_expired_before_the_boundary_and_again() -> None:
    with Trace() as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)
        for _ in range(3):
            trace.at(first.process, "spark finished", lambda: first.process.pause(9.0))
            trace.produce_each(3)
            trace.go(14.0)
        trace.begin(b)
        trace.read_all()
        assert trace.counts["duplicate"] == 0


REQUESTS = (
    "multi Create /consumers/g/ids/",
    "multi Create /consumers/g/owners/t0/",
    "multi Create /consumers/g/offsets/t0/",
    "multi Check /consumers/g/owners/",
    "multi Check /consumers/g/offsets/",
)


@pytest.mark.parametrize("fate", ["executed", "dropped"])
@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("request_", REQUESTS)
def test_f8_the_answer_to_a_transaction_is_lost(request_: str, fate: str, skip: int) -> None:
    with Trace() as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)

        def lose() -> None:
            first.process.access.lose_next = fate  # type: ignore[assignment]

        trace.at(first.process, request_, lose, skip)
        trace.go(1.0)
        trace.begin(b)
        for _ in range(4):
            trace.produce_each(3)
            trace.go(2.0)
        trace.read_all()
        assert trace.counts["duplicate"] == 0


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("request_", REQUESTS)
def test_f9_the_session_ends_just_before_a_transaction(request_: str, skip: int) -> None:
    with Trace() as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)
        trace.at(first.process, request_, lambda: expire(first), skip)
        trace.go(1.0)
        trace.begin(b)
        for _ in range(4):
            trace.produce_each(3)
            trace.go(2.0)
        trace.read_all()


def expire(driver: Driver) -> None:
    session = driver.membership.keeper.session
    if session is not None:
        session.expire()  # type: ignore[attr-defined]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("step", ["logged", "sunk", "finished"])
def test_f10_the_group_is_deleted_and_imported_meanwhile(step: str, lower: bool) -> None:
    with Trace() as trace:
        a = trace.query("a")
        first = trace.begin(a)
        trace.read_all()
        trace.produce_each(6)
        trace.kill_at(first, f"spark {step}")
        trace.go_until_gone(first)
        saved = {path: trace.server.leader.nodes[path] for path in trace.operator.offset_nodes()}
        trace.server.delete_tree(trace.paths.offsets)
        for path, node in saved.items():
            value = b"%d" % (3 if lower else int(node.data))
            trace.server.make(path, value)
            for _ in range(node.node.version):
                trace.server.write(SetData(path, value, -1))
        trace.begin(a)
        trace.read_all()


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("step", SPARK)
def test_f11_a_reset_while_a_batch_is_in_flight(sink: SinkKind, step: str) -> None:
    with Trace(partitions=1) as trace:
        a = trace.query("a", sink=sink)
        first = trace.begin(a)
        trace.read_all()
        trace.produce_each(6)
        trace.kill_at(first, f"spark {step}")
        trace.go_until_gone(first)
        trace.server.write(SetData(trace.paths.offset(TopicPartition(TOPIC, 0)), b"0", -1))
        trace.begin(a)
        trace.read_all()


@pytest.mark.parametrize("step", ["open", "children", "multi", "kafka latest", "spark planned"])
def test_f12_latest_is_resolved_once(step: str) -> None:
    with Trace(starting="latest") as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)
        trace.kill_at(first, step, skip=1)
        trace.go(1.0)
        trace.begin(b)
        trace.go(1.0)
        known = trace.committed()
        trace.produce_each(5)
        trace.go_until(lambda: trace.committed() is not None)
        assert known is None or known == 10
        trace.kafka.grow(TOPIC, 6)
        trace.server.write(SetData(f"/brokers/topics/{TOPIC}", trace.kafka.topic_node(TOPIC), -1))
        trace.produce_each(2)
        trace.read_all()


def test_f13_a_static_member_that_is_alive_after_all() -> None:
    with Trace() as trace:
        a = trace.query("a", static=True)
        a.twins = True
        first = trace.begin(a)
        trace.read_all()
        second = trace.begin(a)
        trace.produce_each(5)
        trace.go_until(lambda: first.gone or second.gone)
        trace.go(10.0)
        assert first.gone != second.gone
        assert trace.counts["query failed: FencedError"] == 1


def test_nothing_is_planned_under_a_registration_of_another_session() -> None:
    """The owner nodes are A's own still, and its fences are unmoved."""
    with Trace() as trace:
        first = trace.begin(trace.query("a", static=True))
        other = trace.begin(trace.query("b"))
        trace.read_all()
        path = trace.paths.id("g_a")

        def take_over() -> None:
            data = trace.server.leader.nodes[path].data
            node = Create(path, data, ephemeral=True, world_open=True)
            trace.server.multi(owner_of(other), [Delete(path, -1), node])
            logged.append(len(first.query.batches))

        logged: list[int] = []
        trace.at(first.process, "kafka latest", take_over)
        trace.produce_each(5)
        trace.go_until_gone(first)
        assert trace.counts["query failed: FencedError"] == 1
        assert logged == [len(first.query.batches)]
        trace.server.write(Delete(path, -1))


@pytest.mark.parametrize("gone", [False, True], ids=["set", "deleted"])
@pytest.mark.parametrize("fate", ["", "executed", "dropped"])
def test_a_release_that_a_reset_forbids(gone: bool, fate: str) -> None:
    """A hands a partition on, whose offset is written or deleted in the same moment. A deletes its
    own node all the same, or that keeps B out for as long as A lives.
    """
    with Trace(partitions=2) as trace:
        a, b = trace.query("a"), trace.query("b")
        first = trace.begin(a)
        trace.read_all()
        moving = TopicPartition(TOPIC, 1)
        path = trace.paths.offset(moving)

        def meddle() -> None:
            trace.server.write(Delete(path, -1) if gone else SetData(path, b"4", -1))
            trace.at(first.process, "sync", lose)

        def lose() -> None:
            first.process.access.lose_next = fate  # type: ignore[assignment]

        trace.at(first.process, "multi Check /consumers/g/offsets/", meddle)
        other = trace.begin(b)
        trace.go_until(lambda: trace.checkers.owner.get(moving) != owner_of(first), 30.0)
        trace.read_all()
        assert owner_of(other) in trace.checkers.owner.values()


def owner_of(driver: Driver) -> int:
    session = driver.membership.keeper.session
    return session.id if session is not None else 0
