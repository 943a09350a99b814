"""A restart after a batch that was planned while the commit before it was in doubt."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.sim.trace import Trace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("fate", ["executed", "dropped"])
@pytest.mark.parametrize("static", [False, True], ids=["", "member.id"])
@pytest.mark.parametrize("after_s", [0.05, 10.0], ids=["within the session", "after it"])
def test_a_batch_that_was_finished_after_a_commit_in_doubt_is_settled(
    fate: str, static: bool, after_s: float
) -> None:
    """Batch 0 is done, its commit sent and never answered; batch 1 is planned under the lease and
    finished, and the driver is killed before the next boundary. The restart settles batch 1 under
    whichever fence the node has: it was our own commit that moved it.
    """
    with Trace(partitions=1) as trace:
        query = trace.query("a", interval_s=0.05, static=static)
        first = trace.begin(query)

        def lose() -> None:
            first.process.access.lose_next = fate  # type: ignore[assignment]
            trace.kill_at(first, "spark finished")

        trace.at(first.process, "spark sunk", lambda: trace.produce_each(5))
        trace.at(first.process, "multi Check /consumers/g/owners/", lose, skip=1)
        trace.go_until_gone(first)
        assert [batch.finished for batch in query.batches] == [True, True]
        assert "+10" in query.batches[1].plan.ranges[0].fence
        assert trace.committed() == (10 if fate == "executed" else 0)
        trace.go(after_s)
        trace.begin(query)
        trace.read_all()
        assert trace.committed() == 15
        assert trace.counts["duplicate"] == 0
