"""Where a member stands if it says nothing else."""

from __future__ import annotations

from pyspark_zkgroup.protocols.port import Standing


def test_a_member_that_reads_nothing_and_waits_for_nothing_is_settled() -> None:
    standing = Standing()
    assert standing.settled
    assert (standing.expected, standing.ended) == ("", "")
