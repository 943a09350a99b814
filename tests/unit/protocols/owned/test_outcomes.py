"""What each answer to a request changes of a member's holdings."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Done, InDoubt, NodeVersion, Outcome, Refused
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.group.settle import Resolution, Verdict
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.rules import outcomes

P = TopicPartition("t", 0)
BEFORE, AFTER = NodeVersion(7, 1), NodeVersion(7, 2)
KNOWN = Known(BEFORE, 9, 4)
DONE, DOUBT, EXISTS = Done((AFTER,)), InDoubt(), Refused(0, "exists")
MOVED = Refused(2, "version")


def held() -> Holdings:
    return Holdings(known={P: KNOWN}, held={P: Held(0, 1)})


@pytest.mark.parametrize(
    ("outcome", "known"),
    [
        (DONE, Known(AFTER, 9, 9)),
        (DOUBT, Known(BEFORE, 9, 4, doubt=9)),
        (MOVED, KNOWN),
    ],
)
def test_a_commit_moves_the_fence_only_where_it_was_executed(
    outcome: Outcome, known: Known
) -> None:
    holdings = held()
    holdings.apply([outcomes.committed(P, KNOWN, outcome)])
    assert (holdings.known, holdings.held) == ({P: known}, {P: Held(0, 1)})


@pytest.mark.parametrize(
    ("outcome", "is_held", "doubtful"),
    [(DONE, True, False), (DOUBT, False, True), (EXISTS, False, True), (MOVED, False, False)],
)
def test_a_claim_is_held_only_where_it_was_executed(
    outcome: Outcome, is_held: bool, doubtful: bool
) -> None:
    holdings = Holdings(stale={P})
    holdings.apply([outcomes.claimed(P, Held(3, 1), 5, outcome)])
    assert holdings.held == ({P: Held(3, 1)} if is_held else {})
    assert holdings.known == ({P: Known(AFTER, 5, 5)} if is_held else {})
    assert (P in holdings.doubtful, P in holdings.stale) == (doubtful, not is_held)


def test_what_keeps_no_owner_node_is_never_doubtful() -> None:
    holdings = Holdings()
    holdings.apply([outcomes.claimed(P, Held(3, 0), 5, DOUBT)])
    assert not holdings.doubtful


@pytest.mark.parametrize(("outcome", "doubtful"), [(DONE, False), (MOVED, False), (DOUBT, True)])
def test_what_is_released_is_not_held_whatever_the_answer(outcome: Outcome, doubtful: bool) -> None:
    holdings = held()
    holdings.apply([outcomes.released(P, outcome)])
    assert (holdings.held, holdings.known) == ({}, {})
    assert (P in holdings.doubtful, P in holdings.stale) == (doubtful, not doubtful)
    assert holdings.position_of(P) == 9


@pytest.mark.parametrize(
    ("verdict", "fence", "known", "owner"),
    [
        (Verdict.OURS, AFTER, Known(AFTER, 9, 9), Held(0, 2)),
        (Verdict.AGAIN, BEFORE, KNOWN, Held(0, 2)),
        (Verdict.UNOWNED, None, KNOWN, None),
        (Verdict.UNOWNED, AFTER, Known(AFTER, 9, 9), None),
        (Verdict.DROP, None, None, None),
        (Verdict.MISSING, None, None, None),
    ],
)
def test_a_commit_in_doubt_is_resolved(
    verdict: Verdict, fence: NodeVersion | None, known: Known | None, owner: Held | None
) -> None:
    holdings = held()
    found = Resolution(verdict, fence, owner_version=2)
    holdings.apply([outcomes.resolved(P, KNOWN, Held(0, 1), 9, found)])
    assert (holdings.known.get(P), holdings.held.get(P)) == (known, owner)
    assert (P in holdings.stale) is (verdict is Verdict.DROP)
    assert ("t" in holdings.lost_topics) is (verdict is Verdict.MISSING)
