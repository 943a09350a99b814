"""What a member still knows of partitions that it wanted to release and that are not its own."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Done, InDoubt, NodeVersion
from pyspark_zkgroup.group.ownership import Held, Known, OwnerRead
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned import claims
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.zk.port import DisconnectedError
from tests.fakes.answering_store import SESSION, AnsweringStore, context_of

P0, P1, P2 = (TopicPartition("t", n) for n in range(3))


def test_what_another_member_has_taken_is_stale_and_not_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = AnsweringStore(Done(), InDoubt())
    context = context_of(store)
    holdings, moved = context.holdings, Moved()
    for partition in (P0, P1, P2):
        holdings.known[partition] = Known(NodeVersion(70, 4), 15, 15)
        holdings.held[partition] = Held(0, 1)
    monkeypatch.setattr(claims, "still_ours", lambda _c, _p: [P1, P2])
    with pytest.raises(DisconnectedError, match="1 releases were not answered"):
        claims.release(context, [P0, P1, P2], moved)
    assert len(store.sent) == 2
    assert (moved.lost, moved.released, moved.again) == ([P0], [P1], False)
    assert holdings.position_of(P0) == 15
    assert P0 in holdings.stale
    assert not holdings.held.keys() & {P0, P1}
    assert holdings.doubtful == {P2}


def test_a_change_of_thread_that_was_not_answered_is_a_broken_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the lost answer has done already is not done again."""
    store = AnsweringStore(InDoubt())
    context = context_of(store)
    for partition in (P0, P1):
        context.holdings.known[partition] = Known(NodeVersion(70, 4), 15, 15)
        context.holdings.held[partition] = Held(0, 1)
    owners = {P0: OwnerRead("me-1", SESSION, 2), P1: OwnerRead("me-0", SESSION, 1)}
    monkeypatch.setattr(claims, "still_ours", lambda _c, _p: owners)
    with pytest.raises(DisconnectedError, match="1 changes of thread were not answered"):
        claims._rethread(context, [P0, P1], {P0: 1, P1: 1})
    assert len(store.sent) == 1
    assert context.holdings.held[P0] == Held(1, 2)
