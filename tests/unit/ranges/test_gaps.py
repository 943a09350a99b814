from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import DataLossError, OffsetBeyondEndError
from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.ranges import gaps
from pyspark_zkgroup.ranges.gaps import Gap

P0, P1, P2 = (TopicPartition("orders", n) for n in range(3))
PASSED = Gap(P0, "passed", 3, 8, 9)
BEYOND = Gap(P1, "beyond", 12, 1, 9)
DELETED = Gap(P2, "deleted", 3, 3, 9)


@pytest.mark.parametrize(
    ("position", "start", "end", "lost"),
    [
        pytest.param(5, 6, 9, 1, id="one record"),
        pytest.param(0, 9, 9, 9, id="all of them, the log is empty"),
        pytest.param(5, 5, 9, None, id="at the start"),
        pytest.param(9, 0, 9, None, id="at the end"),
        pytest.param(12, 0, 9, None, id="beyond the end is another matter"),
        pytest.param(5, 8, 7, None, id="start and end of two moments: looked at again"),
    ],
)
def test_what_retention_has_passed(position: int, start: int, end: int, lost: int | None) -> None:
    found = gaps.passed({P0: position}, {P0: start}, {P0: end})
    assert [gap.lost for gap in found] == ([] if lost is None else [lost])


def test_what_is_not_known_now_is_no_gap() -> None:
    assert gaps.passed({P0: 1, P1: 1}, {P0: 5}, {P1: 9}) == []
    assert gaps.beyond({P0: 5}, {}) == {}
    assert gaps.deleted({P0: 5}, {}, {P0, P1}) == []


def test_a_position_beyond_the_end() -> None:
    assert gaps.beyond({P0: 9, P1: 10, P2: 0}, {P0: 9, P1: 9, P2: 9}) == {P1: 9}


def test_a_deleted_partition_is_a_loss_only_where_something_was_left() -> None:
    found = gaps.deleted({P0: 9, P1: 4}, {P0: 9, P1: 9}, {P0, P1, P2})
    assert found == [Gap(P1, "deleted", 4, 4, 9)]
    assert found[0].lost == 5


def known(done: int) -> Known:
    return Known(NodeVersion(7, 1), done, done)


def test_an_error_names_partition_offsets_gap_and_remedy() -> None:
    losses = Losses(GroupPaths("g").offset, fail=True)
    with pytest.raises(DataLossError) as passed:
        losses.skip([PASSED], Holdings().known)
    told = str(passed.value)
    assert told.startswith("[ZKG-013] 5 records of orders-0 were deleted before they were read")
    assert "offset is 3, but the log now starts at 8 (and ends at 9)" in told
    assert "set /consumers/g/offsets/orders/0 to an offset from 8 to 9, or set failOn" in told
    with pytest.raises(OffsetBeyondEndError) as beyond:
        losses.skip([BEYOND], Holdings().known)
    assert f"{beyond.value}".startswith(
        "[ZKG-011] The group's offset of orders-1 is 12, but the log ends at 9 (and starts at 1)"
    )
    with pytest.raises(DataLossError) as deleted:
        losses.skip([DELETED], Holdings().known)
    assert "orders-2 was deleted with 6 unread records" in f"{deleted.value}"
    assert (losses.events, losses.records) == (0, 0)


def test_an_error_names_a_recreated_topic() -> None:
    with pytest.raises(DataLossError) as caught:
        Losses(GroupPaths("g").offset, fail=True).skip(
            [Gap(P0, "recreated", 5, 0, 9)], Holdings().known
        )
    told = str(caught.value)
    assert told.startswith("[ZKG-013] The topic of orders-0 was recreated after the group's offset")
    assert "its log starts at 0 and ends at 9" in told
    assert "set /consumers/g/offsets/orders/0 to an offset from 0 to 9, or set failOn" in told


def test_an_error_of_a_log_that_lost_its_end_names_the_range() -> None:
    cut = Gap(P0, "cut", 7, 7, 10)
    known_ = Holdings(known={P0: known(4)}).known
    with pytest.raises(DataLossError) as caught:
        Losses(GroupPaths("g").offset, fail=True).skip([cut], known_)
    told = str(caught.value)
    assert told.startswith("[ZKG-013] 3 records of orders-0 were lost")
    assert "offsets 7 to 9: the log ended at 10 when this query began, but now ends at 7" in told
    assert "Restart the query" in told
    losses = Losses(GroupPaths("g").offset, fail=False)
    losses.skip([cut], known_)
    assert (losses.events, losses.records, known_[P0].done) == (1, 3, 4)


def test_an_error_of_many_partitions_stays_readable() -> None:
    many = [Gap(TopicPartition("orders", n), "passed", 0, 5, 9) for n in range(500)]
    with pytest.raises(DataLossError) as caught:
        Losses(GroupPaths("g").offset, fail=True).skip(many, Holdings().known)
    assert "and 490 more partitions" in f"{caught.value}"
    assert len(f"{caught.value}") < 2500


def test_where_losses_are_allowed_they_are_counted_and_the_position_moves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    holdings = Holdings(
        known={P0: known(3), P1: known(12), P2: known(3)},
        held={p: Held(0, 1) for p in (P0, P1, P2)},
    )
    losses = Losses(GroupPaths("g").offset, fail=False)
    losses.skip([PASSED, BEYOND, DELETED], holdings.known)
    assert {p: k.done for p, k in holdings.known.items()} == {P0: 8, P1: 1, P2: 3}
    # Nothing is committed here: the next boundary does it, under the claim.
    assert {p: k.value for p, k in holdings.known.items()} == {P0: 3, P1: 12, P2: 3}
    assert holdings.unsettled
    assert (losses.events, losses.records) == (3, 11)
    assert all(line.startswith("[ZKG-101] ") for line in caplog.messages)
    for line, gap in zip(caplog.messages, [PASSED, BEYOND, DELETED], strict=True):
        assert gap.what in line
        assert gap.going_on in line


def test_a_position_that_has_moved_since_is_left_alone() -> None:
    holdings = Holdings(known={P0: known(4)})
    Losses(GroupPaths("g").offset, fail=False).skip([PASSED], holdings.known)
    assert holdings.known[P0].done == 4
