from __future__ import annotations

import pytest

from pyspark_zkgroup.group.claim import (
    Moves,
    claim_request,
    claim_start,
    moves,
    rethread_request,
    take_over_request,
    taken_over_version,
)
from pyspark_zkgroup.group.ops import Check, Create, NodeVersion, SetData
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition

MINE, OTHER = 1, 2
P = [TopicPartition("t", n) for n in range(8)]
NOTHING = Moves((), (), (), (), (), (), ())


def decide(
    target: dict[int, int],
    held: dict[int, int],
    owned: set[int],
    owners: dict[int, int] | None = None,
) -> Moves:
    return moves(
        target={P[n]: thread for n, thread in target.items()},
        held={P[n]: Held(thread, 1) for n, thread in held.items()},
        owned={P[n] for n in owned},
        owners={P[n]: OwnerRead(f"g_{s}-0", s, 1) for n, s in (owners or {}).items()},
        session=MINE,
    )


def test_what_stays_is_not_touched() -> None:
    assert decide({0: 0, 1: 1}, {0: 0, 1: 1}, {0, 1}) == NOTHING


def test_free_ones_are_claimed_and_owned_ones_waited_for() -> None:
    found = decide({0: 0, 1: 0, 2: 1}, {0: 0}, {0, 2}, {2: OTHER})
    assert (found.claim, found.wait) == ((P[1],), (P[2],))


def test_what_the_target_takes_away_is_released() -> None:
    assert decide({0: 0}, {0: 0, 1: 0}, {0, 1}).release == (P[1],)


def test_a_move_between_our_own_threads_is_never_a_release() -> None:
    found = decide({0: 1}, {0: 0}, {0})
    assert (found.rethread, found.release, found.claim) == ((P[0],), (), ())


def test_a_move_between_our_own_threads_is_bound_to_the_fence() -> None:
    """An operator deletes our node, another member claims the partition: its node has our version,
    and only the fence tells.
    """
    known = Known(NodeVersion(9, 3), 5, 5)
    request = rethread_request(GroupPaths("g"), P[2], ThreadId("g_me", 1), known, Held(0, 1))
    assert request == (
        Check("/consumers/g/offsets/t/2", 3),
        SetData("/consumers/g/owners/t/2", b"g_me-1", 1),
    )


def test_a_node_that_vanished_is_claimed_again_and_not_released() -> None:
    found = decide({0: 0}, {0: 0, 1: 0}, set())
    assert (found.vanished, found.claim, found.release) == ((P[0], P[1]), (P[0],), ())


def test_a_claim_whose_answer_was_lost_is_kept_or_taken_back() -> None:
    found = decide({0: 0}, {}, {0, 1}, {0: MINE, 1: MINE})
    assert (found.adopt, found.remove, found.claim) == ((P[0],), (P[1],), ())


def test_a_claim_rewrites_its_node_once_and_moves_the_fence() -> None:
    offset = OffsetRead(b"5", NodeVersion(9, 3))
    request = claim_request(GroupPaths("g"), P[2], ThreadId("g_me", 1), offset, 5)
    assert request == (
        Create("/consumers/g/owners/t/2", b"g_me-1", ephemeral=True),
        SetData("/consumers/g/owners/t/2", b"g_me-1", 0),
        SetData("/consumers/g/offsets/t/2", b"5", 3),
    )


def test_the_groups_offset_wins_unless_our_own_work_is_unsettled_under_an_unmoved_fence() -> None:
    offset = OffsetRead(b"5", NodeVersion(9, 3))
    assert claim_start(None, offset) == 5
    assert claim_start(Known(NodeVersion(9, 2), 8, 5), offset) == 5
    assert claim_start(Known(NodeVersion(9, 3), 8, 5), offset) == 8
    assert claim_start(None, OffsetRead(b"-1", NodeVersion(9, 3))) is None
    assert claim_start(None, OffsetRead(b"junk", NodeVersion(9, 3))) is None


@pytest.mark.parametrize("former", range(1, 30))
def test_a_node_taken_over_has_no_version_that_its_predecessor_may_know(former: int) -> None:
    """Nor one below, which it knows if the last rewriting was not answered."""
    owner = OwnerRead("g_me-0", 7, former)
    version = taken_over_version(owner)
    assert version not in (former, former - 1)
    fence = NodeVersion(9, 3)
    request = take_over_request(GroupPaths("g"), P[0], ThreadId("g_me", 0), fence, owner)
    rewritten = [op.version for op in request if isinstance(op, SetData)]
    assert rewritten == list(range(version))
    assert len(request) <= 11
