"""For how long a replay waits for members that still hold what it reads again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.group import replay
from pyspark_zkgroup.group.ops import Done, Refused
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.replay import LeaveOut
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.owned import replays
from pyspark_zkgroup.protocols.owned.holdings import Holdings

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
FENCE = Fence("1-0")
PLAN = Plan(
    "zookeeper",
    "g",
    "me",
    (PlannedRange(P0, OffsetRange(0, 5), 0, FENCE), PlannedRange(P1, OffsetRange(5, 5), 0, FENCE)),
)


def test_it_pauses_only_while_another_member_has_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range that was refused is decided again at once; an empty one is not decided at all."""
    rounds: list[tuple[set[str], bool]] = []
    answers = [{"other-0"}, set(), {"other-0"}, set()]

    def decide(_c: Any, undecided: dict[Any, Any], included: set[Any], out: bool) -> set[str]:
        assert set(undecided) == {P0}
        found = answers[len(rounds)]
        rounds.append((found, out))
        if len(rounds) == len(answers):
            included.add(P0)
            undecided.clear()
        return found

    clock = SimpleNamespace(now=0.0)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        clock.now += 1.5

    monkeypatch.setattr(replays, "_decide_round", decide)
    context: Any = SimpleNamespace(
        paths=GroupPaths("g"),
        clock=SimpleNamespace(monotonic=lambda: clock.now),
        callback=SimpleNamespace(tell=lambda *_: None),
        store=SimpleNamespace(
            ensure=lambda _paths: None, session=SimpleNamespace(negotiated_timeout_s=1.0)
        ),
    )
    assert replays.replay_ranges(context, PLAN, wait) == {P0}
    assert len(waits) == 2
    assert [out for _, out in rounds] == [False, False, False, True]


def test_a_range_that_is_refused_does_not_keep_the_next_from_being_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    undecided = {p: PlannedRange(p, OffsetRange(0, 5), 0, FENCE) for p in (P0, P1)}
    monkeypatch.setattr(replays, "read_owners", lambda *_: {})
    monkeypatch.setattr(replays, "read_offsets", lambda *_: {})
    monkeypatch.setattr(replay, "decide", lambda *_, **__: LeaveOut((), "another member"))
    store = SimpleNamespace(
        sync=lambda: None,
        session=SimpleNamespace(id=7),
        commit=lambda _requests: [Refused(0, "version"), Done()],
    )
    context: Any = SimpleNamespace(
        store=store,
        session=7,
        static=False,
        paths=GroupPaths("g"),
        holdings=Holdings(),
        thread=lambda number: number,
    )
    assert replays._decide_round(context, undecided, set(), False) == set()
    assert set(undecided) == {P0}


@pytest.mark.parametrize(("session", "doubtful"), [(7, {P0}), (8, set())])
def test_a_node_of_ones_own_is_looked_at_again_when_its_range_is_left_out(
    monkeypatch: pytest.MonkeyPatch, session: int, doubtful: set[TopicPartition]
) -> None:
    """A claim is executed and its answer lost. An operator sets the offset: the next round leaves
    the range out, and the node would be in the way of other members for as long as the session.
    """
    undecided = {P0: PLAN.ranges[0]}
    owner = SimpleNamespace(session=session)
    monkeypatch.setattr(replays, "read_owners", lambda *_: {P0: owner})
    monkeypatch.setattr(replays, "read_offsets", lambda *_: {})
    monkeypatch.setattr(replay, "decide", lambda *_, **__: LeaveOut((), "another offset"))
    context: Any = SimpleNamespace(
        store=SimpleNamespace(sync=lambda: None, commit=lambda _requests: [Done()]),
        session=7,
        static=False,
        paths=GroupPaths("g"),
        thread=lambda number: number,
        holdings=Holdings(),
    )
    assert replays._decide_round(context, undecided, set(), waited_out=False) == set()
    assert context.holdings.doubtful == doubtful
