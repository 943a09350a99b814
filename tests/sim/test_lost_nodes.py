"""All nodes of a group are lost while its members live; versions come back with the new ones."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Delete
from pyspark_zkgroup.model import TopicPartition
from tests.sim.query import Driver
from tests.sim.trace import TOPIC, Trace

ONLY = TopicPartition(TOPIC, 0)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def lose(trace: Trace, path: str) -> None:
    trace.checkers.allowed_faults.add("lost")
    trace.server.delete_tree(path)


def version(trace: Trace) -> int | None:
    node = trace.server.leader.nodes.get(trace.paths.offset(ONLY))
    return None if node is None else node.node.version


def in_its_second_batch(trace: Trace) -> Driver:
    """A holds the one partition under version 2, made, claimed and committed; a batch that ends at
    20 is in flight.
    """
    first = trace.begin(trace.query("a"))
    trace.read_all()
    trace.at(first.process, "spark read", lambda: first.process.pause(3.0))
    trace.produce_each(10)
    trace.go_until(lambda: first.process.access.paused)
    assert version(trace) == 2
    return first


def test_a_commit_of_before_the_loss_does_not_fit_the_rebuilt_node() -> None:
    """A is in a long batch. B rebuilds the nodes, claims and commits 25: owner and offset have the
    versions that A remembers, and A's commit would set it back to 20.
    """
    with Trace(partitions=1, session_ms=6000) as trace:
        first = in_its_second_batch(trace)
        lose(trace, trace.paths.root)
        trace.produce_each(5)
        trace.begin(trace.query("b", batch_s=0.1))
        trace.go_until(lambda: trace.committed() == 25)
        assert (version(trace), first.process.access.paused) == (2, True)
        trace.go_until(lambda: not first.process.access.paused)
        trace.go(2.0)
        assert trace.committed() == 25
        trace.read_all()


def test_a_member_whose_registration_alone_is_deleted_commits_once_it_has_another() -> None:
    with Trace(partitions=1, session_ms=6000) as trace:
        first = in_its_second_batch(trace)
        trace.server.write(Delete(trace.paths.id("g_a.1"), -1))
        trace.go_until(lambda: trace.committed() == 20)
        assert not first.gone
        assert trace.server.leader.kids[trace.paths.ids] == {"g_a.1"}
        trace.read_all()
        assert trace.counts["duplicate"] == 0


def test_nor_does_that_of_a_static_member_whose_replacement_has_rebuilt_it() -> None:
    """A registration of that name is there: the replacement's. Its first batch is a replay that
    leaves out what was lost, and the sink takes it for both; its second one is not done yet.
    """
    with Trace(partitions=1, session_ms=6000) as trace:
        a = trace.query("a", static=True, sink="by batch id")
        a.twins = True
        first = trace.begin(a)
        trace.at(first.process, "spark read", lambda: first.process.pause(3.0))
        trace.go_until(lambda: first.process.access.paused)
        lose(trace, trace.paths.root)
        second = trace.begin(a)
        trace.at(second.process, "spark read", lambda: second.process.pause(4.0), skip=1)
        trace.go_until(lambda: second.process.access.paused)
        assert (version(trace), first.process.access.paused) == (1, True)
        trace.go_until(lambda: not first.process.access.paused)
        trace.go(0.5)
        assert trace.committed() == 0
        trace.read_all()


def test_a_member_registers_although_its_group_is_lost_right_before() -> None:
    """The parents of the registration exist when they are looked at, and not when it is created."""
    with Trace(partitions=1, session_ms=6000) as trace:
        trace.begin(trace.query("a"))
        trace.read_all()
        second = trace.begin(trace.query("b"))
        trace.at(
            second.process, "stats /consumers/g/ids/g_b", lambda: lose(trace, trace.paths.root)
        )
        trace.go_until(lambda: "g_b.1" in trace.server.leader.kids.get(trace.paths.ids, ()), 20.0)
        trace.produce_each(5)
        trace.read_all()


def test_what_is_held_is_looked_at_before_a_new_registration() -> None:
    """Z holds all four partitions and receives nothing for a while. Meanwhile A rebuilds the nodes
    and claims. By the share of two members Z reads the third with another of its threads: it would
    write that thread into the node of A, whose version is the one that its own had.
    """
    with Trace(partitions=4, session_ms=6000) as trace:
        first = trace.begin(trace.query("z", threads="2"))
        trace.read_all()
        first.process.pause(3.0)
        lose(trace, trace.paths.root)
        trace.begin(trace.query("a", interval_s=6.0))
        trace.go_until(lambda: len(trace.checkers.owner) == 4)
        trace.go_until(lambda: not first.process.access.paused)
        trace.go(12.0)
        assert len(set(trace.checkers.owner.values())) == 2
        trace.read_all()


def test_a_member_that_cannot_prove_what_it_holds_tells_of_no_loss() -> None:
    """B is cut off from ZooKeeper, its owner node is deleted, and A reads on and commits. What is
    committed goes by retention: B has not read it, and remembers an older offset of the group.
    """
    with Trace(partitions=2, records=0, session_ms=10000) as trace:
        first = trace.begin(trace.query("b", batch_s=3.0))
        trace.at(first.process, "spark read", lambda: first.process.cut(6.0, silent=True))
        trace.kafka.produce(TopicPartition(TOPIC, 1), 10)
        trace.go_until(lambda: first.process.access.way != "up")
        trace.server.write(Delete(trace.paths.owner(ONLY), -1))
        trace.kafka.produce(ONLY, 10)
        trace.begin(trace.query("a", batch_s=0.1))
        trace.go_until(lambda: trace.committed() == 10)
        trace.kafka.logs[ONLY].earliest = 10
        trace.go(8.0)
        assert trace.world.violation is None
        assert not first.gone
        trace.read_all()
