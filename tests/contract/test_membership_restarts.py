"""What a member that starts again, or takes its predecessor's place, may rely on.

As in test_membership.py: the same for all protocols, on real servers and on fakes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.plan import decode
from tests.contract.membership_steps import EACH, EACH_KIND, a_batch, at, crash, filled, missing
from tests.contract.memberships import KINDS, Members, settle
from tests.contract.simulated_queries import SimulatedQuery
from tests.harness.group import all_rows, twice
from tests.harness.spark_order import Checkpoint


@pytest.fixture(params=EACH_KIND, ids="-".join)
def members(request: pytest.FixtureRequest) -> Iterator[Members]:
    protocol, kind = request.param
    with KINDS[kind].of(protocol, request) as made:
        yield made


# Without a member.id the restart waits until its predecessor counts as dead.
MEMBER_ID = pytest.mark.parametrize(
    ("members", "member_id"),
    [
        pytest.param((protocol, kind), member_id, id=f"{protocol}-{kind}-{said}", marks=marks)
        for protocol, kind in EACH_KIND
        for member_id, said, marks in (
            ("one", "member.id", ()),
            ("", "new name", KINDS[kind].sessions_take),
        )
    ],
    indirect=["members"],
)


@MEMBER_ID
def test_a_restart_within_the_session_settles_what_was_finished(
    members: Members, member_id: str
) -> None:
    topic = filled(members, 2)
    checkpoint = Checkpoint()
    first = members.query(topic, checkpoint, member_id=member_id)
    settle(first, partitions=2)
    members.made.produce(topic, EACH)
    crash(members, first, "finished")
    again = members.query(topic, checkpoint, member_id=member_id)
    settle(again, partitions=2)
    assert again.rows == []
    assert members.committed(topic) == {0: 2 * EACH, 1: 2 * EACH}


@MEMBER_ID
def test_an_unfinished_batch_is_replayed_exactly(members: Members, member_id: str) -> None:
    topic = filled(members, 2)
    checkpoint = Checkpoint()
    first = members.query(topic, checkpoint, member_id=member_id)
    settle(first, partitions=2)
    members.made.produce(topic, EACH)
    crash(members, first, "logged")
    members.made.produce(topic, EACH)
    again = members.query(topic, checkpoint, member_id=member_id)
    again.trigger()
    planned = decode(checkpoint.offsets[-1]).ranges
    assert sorted(again.rows) == sorted(
        (topic, r.partition.partition, offset)
        for r in planned
        for offset in range(r.range.start, r.range.until)
    )
    settle(again, partitions=2)
    assert missing(members, first, again) == [] == twice(all_rows(first, again))


def test_the_older_of_two_drivers_on_one_checkpoint_commits_nothing(members: Members) -> None:
    """It counted as dead during its batch, and its replacement has done the batch meanwhile."""
    topic = filled(members, 1)
    checkpoint = Checkpoint()
    older = members.query(topic, checkpoint)
    settle(older, partitions=1)
    members.made.produce(topic, EACH)
    newer = members.query(topic, checkpoint)

    def meanwhile() -> None:
        members.lose(older)
        newer.trigger()
        assert [offset for _, _, offset in newer.rows] == [*range(EACH, 2 * EACH)]
        settle(newer, partitions=1)

    a_batch(older, at("logged", meanwhile))
    assert members.committed(topic) == {0: 2 * EACH}
    older.trigger()
    assert members.committed(topic) == {0: 2 * EACH}
    assert set(older.rows) == set(newer.rows) | {(topic, 0, n) for n in range(EACH)}


@pytest.mark.parametrize("step", ["finished", "logged"])
def test_a_restart_waits_for_brokers_that_are_away_for_a_moment(
    members: Members, step: str
) -> None:
    """Like a running query; the first look of a new query is an error for its user."""
    topic = filled(members, 2)
    checkpoint = Checkpoint()
    first = members.query(topic, checkpoint)
    settle(first, partitions=2)
    members.made.produce(topic, EACH)
    crash(members, first, step)
    again = members.query(topic, checkpoint)
    if not isinstance(again, SimulatedQuery):
        pytest.skip("brokers are cut off from one process only in the simulation")
    again.process.cut_kafka(3.0)
    again.trigger()  # no error: a caller that waits would try again
    settle(again, partitions=2)
    assert missing(members, first, again) == []
