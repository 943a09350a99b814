"""Partitions that are read without being owned: what ends such a query, and what is read again."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import AssignmentError, FencedError
from pyspark_zkgroup.group.ops import Create, SetData
from pyspark_zkgroup.group.ownership import Held, Known, fence_of
from pyspark_zkgroup.group.paths import CoordinatedPaths, GroupPaths
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.assign.tenure import OffsetFences
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import Member
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from tests.fakes.standing import FakeEnsemble
from tests.fakes.still_clock import StillClock
from tests.fakes.zookeeper import Replica

PATHS = GroupPaths("g")
P, Q = (TopicPartition("t", n) for n in range(2))


class Scene:
    """A query that was planned to read 4 to 9 of P and nothing of Q."""

    def __init__(self) -> None:
        ensemble = FakeEnsemble()
        self.server = ensemble.server
        self.store = ensemble.store(ensemble.open(5000, ""))
        self.other = ensemble.store(ensemble.open(5000, ""))
        self.other.ensure([PATHS.ids, PATHS.owner_topic("t"), PATHS.offset_topic("t")])
        self.other.commit([(Create(PATHS.offset(p), b"4"),) for p in (P, Q)])
        # Its server lags as far as nothing makes it catch up.
        self.store.session.replica = Replica()
        self.server.catch_up(self.store.session.replica)
        clock: Any = StillClock()
        member = Member(PATHS, "g_me", False, Holdings(), clock, RebalanceCallback())
        self.context = member.on(self.store)
        (node,) = self.other.nodes([PATHS.offset(P)])
        assert node is not None
        self.fence = node.node
        fence = fence_of(node.node)
        ranges = (
            PlannedRange(P, OffsetRange(4, 9), 1, fence),
            PlannedRange(Q, OffsetRange(4, 4), 0, fence),
        )
        self.plan = Plan("assign", "g", "g_me", ranges)

    def replay(self) -> frozenset[TopicPartition]:
        return OffsetFences().replay(self.context, self.plan, lambda _s: None)


def test_a_range_whose_fence_has_not_moved_is_read_again() -> None:
    scene = Scene()
    assert scene.replay() == {P}
    assert scene.context.holdings.held == {P: Held(1, 0)}
    assert scene.context.holdings.known == {P: Known(scene.fence, 4, 4)}


def test_a_range_whose_fence_has_moved_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.other.commit([(SetData(PATHS.offset(P), b"9", -1),)])
    assert scene.replay() == frozenset()
    assert not scene.context.holdings.held
    (said,) = caplog.messages
    assert said.startswith("[ZKG-134]")


@pytest.mark.parametrize("paths", [PATHS, CoordinatedPaths("g")])
def test_a_member_that_has_just_joined_keeps_a_range_from_being_read_again(
    paths: GroupPaths,
) -> None:
    scene = Scene()
    scene.other.ensure([paths.ids])
    scene.other.commit([(Create(paths.id("g_b"), b"", ephemeral=True),)])
    with pytest.raises(AssignmentError, match="g_b"):
        scene.replay()


def test_a_moved_fence_ends_the_query_at_its_proof() -> None:
    scene = Scene()
    scene.replay()
    assert OffsetFences().prove(scene.context)
    scene.other.commit([(SetData(PATHS.offset(P), b"7", -1),)])
    with pytest.raises(FencedError, match="/consumers/g/offsets/t/0"):
        OffsetFences().prove(scene.context)


def test_an_owner_ends_the_query_at_its_commit() -> None:
    scene = Scene()
    scene.replay()
    known = scene.context.holdings.known
    known[P] = Known(scene.fence, 9, 4)
    OffsetFences().commit(scene.context)
    assert [node and node.data for node in scene.other.nodes([PATHS.offset(P)])] == [b"9"]
    assert not known[P].unsettled
    known[P] = Known(known[P].fence, 12, 9)
    scene.other.commit([(Create(PATHS.owner(P), b"g_b-0", ephemeral=True),)])
    with pytest.raises(FencedError):
        OffsetFences().commit(scene.context)
