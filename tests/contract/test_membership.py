"""What the planner may rely on with every protocol: the membership's port.

The suite is the same for all protocols, on real servers and on the simulation's fakes. Differences
are in `DIFFERENCES`, with the reason. Select by name: pytest tests/contract -k "membership and
coordinator", and "... and fakes" for those alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OffsetBeyondEndError, PlanError
from pyspark_zkgroup.options.topics import THREADS
from pyspark_zkgroup.plan import decode
from tests.contract.membership_steps import EACH, EACH_KIND, a_batch, at, filled, missing
from tests.contract.memberships import DIFFERENCES, KINDS, ON_SERVERS, Members, settle
from tests.harness.group import all_rows, twice
from tests.harness.waiting import wait_until

PAGES = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(params=EACH_KIND, ids="-".join)
def members(request: pytest.FixtureRequest) -> Iterator[Members]:
    protocol, kind = request.param
    with KINDS[kind].of(protocol, request) as made:
        yield made


def test_all_that_a_lone_member_subscribes_to_is_its_own(members: Members) -> None:
    topic = filled(members, 4)
    query = members.query(topic)
    query.trigger()
    if members.protocol not in DIFFERENCES["holds its share at its first boundary"]:
        assert len(query.held) == 4
    settle(query, partitions=4)
    assert missing(members, query) == [] == twice(query.rows)
    assert set(query.membership.subscribed()) == query.held
    assert query.membership.status()["member"] == query.membership.member


def test_members_share_and_what_stays_is_read_on(members: Members) -> None:
    """No batch of a member reads what another member holds."""
    topic = filled(members, 4)
    first = members.query(topic)
    settle(first, partitions=4)
    second = members.query(topic)
    members.made.produce(topic, EACH)
    settle(first, second, partitions=4)
    assert not first.held & second.held
    members.made.produce(topic, EACH)
    settle(first, second, partitions=4)
    assert missing(members, first, second) == [] == twice(all_rows(first, second))


def test_two_members_with_default_options_have_equal_shares(members: Members) -> None:
    """Each has at least as many threads as the topic has partitions: the first could keep all."""
    for partitions in (1, 2, 3, 4, 6, 7, 12):
        topic = filled(members, partitions)
        first = members.query(topic, threads=THREADS.default)
        settle(first, partitions=partitions)
        second = members.query(topic, threads=THREADS.default)
        settle(first, second, partitions=partitions)
        assert not first.held & second.held
        for query in (first, second):
            query.stop()


def test_a_new_group_that_starts_at_latest_logs_what_it_skips(
    members: Members, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(members, 3)
    caplog.set_level("INFO", "pyspark_zkgroup.group")
    first = members.query(topic, starting="latest")
    settle(first, partitions=3)
    second = members.query(topic, starting="latest")
    settle(first, second, partitions=3)
    (said,) = [line for line in caplog.messages if "existing records" in line]
    assert f"is new to {topic}: it starts at latest and skips {3 * EACH} existing records" in said
    assert "set startingOffsets=earliest" in said


def test_a_topic_that_does_not_exist_is_named_once_with_similar_names(
    members: Members, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(members, 2)
    query = members.query(f"{topic},{topic}s")
    settle(query, partitions=2)
    query.until(2 * EACH)
    said = [line for line in caplog.messages if line.startswith("[ZKG-182]")]
    assert len(said) == 1
    # Servers have the topics of other tests too, and some names are as near.
    said_of, _, near = said[0].partition(" (similar names: ")
    assert said_of.endswith(f"topic {topic}s does not exist yet")
    assert topic in near.partition(")")[0].split(", ")


def test_a_plan_names_what_is_held_and_commits_come_with_the_next_boundary(
    members: Members,
) -> None:
    topic = filled(members, 2)
    query = members.query(topic)

    def look() -> None:
        plan = decode(query.checkpoint.offsets[-1])
        assert plan.protocol == members.protocol
        assert plan.member == query.membership.member
        assert {r.partition for r in plan.ranges} == query.held
        assert members.committed(topic) == {0: 0, 1: 0}

    query.until(2 * EACH, at=at("sunk", look))
    assert members.committed(topic) == {0: 0, 1: 0}
    settle(query, partitions=2)
    assert members.committed(topic) == {0: EACH, 1: EACH}
    assert not query.membership.unsettled
    assert not query.membership.stirred()


def test_what_moves_is_given_up_at_the_boundary_and_not_before(members: Members) -> None:
    """A finishes its batch, whatever B requests."""
    topic = filled(members, 2)
    first = members.query(topic)
    settle(first, partitions=2)
    second = members.query(topic)
    members.made.produce(topic, EACH)

    def meanwhile() -> None:
        for _ in range(3):
            second.trigger()
        assert len(first.held) == 2
        assert second.held == set()

    a_batch(first, at("read", meanwhile))
    settle(first, second, partitions=2)
    assert missing(members, first, second) == [] == twice(all_rows(first, second))


def test_a_late_commit_is_refused_when_another_has_taken_over(members: Members) -> None:
    topic = filled(members, 1)
    late, other = members.query(topic), members.query(topic)
    late.until(EACH)
    members.lose(late)
    settle(other, partitions=1)
    assert len(other.rows) == EACH  # in flight when the membership ended, so it comes twice
    members.made.produce(topic, EACH)
    settle(other, partitions=1)
    late.trigger()
    assert members.committed(topic) == {0: 2 * EACH}
    settle(late, other, partitions=1)
    assert members.committed(topic) == {0: 2 * EACH}
    assert missing(members, late, other) == []
    assert len(twice(all_rows(late, other))) == EACH


def test_a_lost_membership_is_joined_again_and_settles(members: Members) -> None:
    topic = filled(members, 2)
    query = members.query(topic)
    query.until(2 * EACH)
    members.lose(query)
    members.made.produce(topic, EACH)
    settle(query, partitions=2)
    assert missing(members, query) == [] == twice(query.rows)


def test_a_first_position_is_written_before_anything_is_read(members: Members) -> None:
    """A crash before the first batch must not skip records that arrive meanwhile, anywhere."""
    topic = filled(members, 2)
    first = members.query(topic, starting="latest", member_id="one")
    settle(first, partitions=2)
    assert members.committed(topic) == {0: EACH, 1: EACH}
    members.crash(first)
    members.made.produce(topic, EACH)
    second = members.query(topic, starting="latest", member_id="one")
    settle(second, partitions=2)
    assert sorted(o for _, _, o in second.rows) == sorted([*range(EACH, 2 * EACH)] * 2)


def test_who_leaves_frees_its_share_at_once(members: Members) -> None:
    """Not after its session, which is longer than this test may wait."""
    topic = filled(members, 2)
    first = members.query(topic, session_ms=25_000)
    second = members.query(topic)
    settle(first, second, partitions=2)
    first.stop()
    first.stop()
    members.made.produce(topic, EACH)
    settle(second, partitions=2, deadline_s=15.0)
    assert missing(members, first, second) == [] == twice(all_rows(first, second))


def test_an_offset_that_is_set_by_hand_counts(members: Members) -> None:
    """Also in mid-batch: what is being read is not committed over it."""
    topic = filled(members, 1)
    query = members.query(topic)
    settle(query, partitions=1)
    members.made.produce(topic, EACH)
    taken: list[bool] = []
    reset = at("sunk", lambda: taken.append(members.set_offset(topic, 0, 2)))
    a_batch(query, reset)
    settle(query, partitions=1)
    refused = members.protocol in DIFFERENCES["an offset is set by hand while members live"]
    assert taken == [not refused]
    assert twice(query.rows) == ([] if refused else [(topic, 0, n) for n in range(2, 2 * EACH)])
    assert members.committed(topic) == {0: 2 * EACH}


def test_an_offset_that_is_set_while_nothing_is_read_counts(members: Members) -> None:
    """No record arrives that would make it plan, and so prove, anything."""
    topic = filled(members, 1)
    query = members.query(topic)
    settle(query, partitions=1)
    if not members.set_offset(topic, 0, 2):
        return  # Such a protocol accepts none from outside the group.
    again = [(topic, 0, n) for n in range(2, EACH)]

    def has_read_again() -> bool:
        query.trigger()
        return twice(query.rows) == again

    wait_until(has_read_again, 20, "the records behind it", clock=query.clock)
    settle(query, partitions=1)
    assert twice(query.rows) == again
    assert members.committed(topic) == {0: EACH}


def test_an_offset_beyond_its_log_refuses_who_is_to_read_it(members: Members) -> None:
    """The topic was recreated, or its log cut: nothing is read of it, and the offset stays."""
    topic = filled(members, 2)
    first = members.query(topic)
    settle(first, partitions=2)
    first.stop()
    second = members.query(topic)
    wait_until(lambda: members.set_offset(topic, 1, 2 * EACH), 10, "the offset", clock=second.clock)

    def refused() -> bool:
        try:
            second.trigger()
        except OffsetBeyondEndError as error:
            return f"{topic}-1" in str(error)
        return False

    wait_until(refused, 20, "a refusal", clock=second.clock)
    assert second.rows == []
    assert members.committed(topic) == {0: EACH, 1: 2 * EACH}


def test_a_checkpoint_belongs_to_its_protocol(members: Members) -> None:
    topic = filled(members, 1)
    query = members.query(topic)
    query.until(EACH)
    last = query.checkpoint.offsets[-1]
    last["protocol"] = next(other for other in ON_SERVERS if other != members.protocol)
    with pytest.raises(PlanError, match="protocol"):
        members.query(topic, query.checkpoint).trigger()


def test_each_difference_is_of_a_protocol_whose_rules_are_written_down() -> None:
    written = {path.stem.removeprefix("protocol-") for path in PAGES.glob("protocol-*.md")}
    for reasons in DIFFERENCES.values():
        assert reasons.keys() <= written & ON_SERVERS.keys()
