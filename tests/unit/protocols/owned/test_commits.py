"""What a member takes for granted of writes that were not answered."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Done, InDoubt, NodeVersion, Outcome, Refused
from pyspark_zkgroup.group.ownership import Held, Known, OwnerRead
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned import commits
from pyspark_zkgroup.zk.port import DisconnectedError
from tests.fakes.answering_store import SESSION, AnsweringStore, context_of

P0, P1, P2 = (TopicPartition("t", n) for n in range(3))


def test_an_owner_node_whose_deletion_was_not_answered_is_looked_at_again() -> None:
    """And only nodes of this session are deleted."""
    store = AnsweringStore(InDoubt(), Done())
    context = context_of(store)
    owners = {P0: OwnerRead("me-0", SESSION, 1), P1: OwnerRead("me-0", SESSION, 1)}
    commits.delete_own(context, {**owners, P2: OwnerRead("other-0", SESSION + 1, 1)})
    assert [t[0].path for t in store.sent] == [context.paths.owner(p) for p in (P0, P1)]
    assert context.holdings.doubtful == {P0}


@pytest.mark.parametrize("outcomes", [(InDoubt(), Done()), (Refused(0, "version"), InDoubt())])
def test_settling_that_was_not_answered_is_a_broken_connection(
    outcomes: tuple[Outcome, ...],
) -> None:
    context = context_of(AnsweringStore(*outcomes))
    context.holdings.known.update({p: Known(NodeVersion(70, 4), 15, 10) for p in (P0, P1)})
    with pytest.raises(DisconnectedError, match="1 commits were not answered"):
        commits._settle(context, {P0: (), P1: ()})


def test_what_is_settled_after_a_restart_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    context = context_of(AnsweringStore(Done((NodeVersion(70, 5),)), Refused(0, "version")))
    context.holdings.known.update({p: Known(NodeVersion(70, 4), 15, 10) for p in (P0, P1)})
    with caplog.at_level("INFO", "pyspark_zkgroup.group"):
        commits._settle(context, {P0: (), P1: ()})
    assert caplog.messages == [
        "Committed t-0 at 15, which was read before the restart",
        "Cannot commit t-1 yet (version), trying again",
    ]


def test_what_is_sent_is_in_doubt_until_it_is_answered() -> None:
    context = context_of(AnsweringStore(InDoubt(), Done((NodeVersion(70, 5),))))
    holdings = context.holdings
    for partition in (P0, P1):
        holdings.known[partition] = Known(NodeVersion(70, 4), 15, 10)
        holdings.held[partition] = Held(0, 1)
    with pytest.raises(DisconnectedError):
        commits._commit_held(context, [P0, P1])
    assert holdings.known[P0].doubt == 15
    assert holdings.known[P1] == Known(NodeVersion(70, 5), 15, 15)
    assert holdings.committed_at == context.clock.monotonic()
