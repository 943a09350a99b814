"""Setting offsets by hand, as values: where partitions go, what is written under which version."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, NodeVersion, SetData
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.inspect.reset import (
    LogSpan,
    Move,
    moves,
    parents,
    refuse_changed,
    shifted,
    writes,
)
from pyspark_zkgroup.model import TopicPartition

P0, P1, P2 = (TopicPartition("t", n) for n in range(3))
SPANS = dict.fromkeys((P0, P1, P2), LogSpan(10, 100))


def test_an_offset_outside_the_log_moves_to_its_nearer_end_with_a_note() -> None:
    found = moves({P0: 5, P1: 50, P2: 101}, {P0: 20}, SPANS)
    assert [(m.before, m.after, m.note) for m in found] == [
        (20, 10, "5 is below the log's start"),
        (None, 50, ""),
        (None, 100, "101 is beyond the log's end"),
    ]


def test_a_shift_needs_an_offset_to_start_from() -> None:
    assert shifted(-5, {P0: 20, P1: None}) == {P0: 15}


def test_a_present_offset_is_written_under_its_version_and_a_missing_one_is_made() -> None:
    present = {P0: OffsetRead(b"20", NodeVersion(1, 7))}
    ((part, transaction),) = writes("g", [Move(P0, 20, 10), Move(P1, None, 50)], present)
    assert [move.partition for move in part] == [P0, P1]
    assert transaction == (
        SetData("/consumers/g/offsets/t/0", b"10", 7),
        Create("/consumers/g/offsets/t/1", b"50"),
    )


def test_one_that_stays_where_it_is_moves_its_version_all_the_same() -> None:
    present = {P0: OffsetRead(b"20", NodeVersion(1, 7))}
    ((_, transaction),) = writes("g", [Move(P0, 20, 20)], present)
    assert transaction == (SetData("/consumers/g/offsets/t/0", b"20", 7),)


def test_many_are_written_in_transactions_below_the_packet_limit() -> None:
    many = [Move(TopicPartition("t", n), None, 0) for n in range(7001)]
    assert [len(transaction) for _, transaction in writes("g", many, {})] == [3000, 3000, 1001]
    assert parents("g", many) == ["/consumers/g/offsets/t"]


def test_an_offset_that_has_changed_since_it_was_shown_is_refused() -> None:
    wanted = [Move(P0, 3, 9), Move(P1, None, 9)]
    refuse_changed(wanted, {P0: 3})
    with pytest.raises(ServerError, match="offset of t-1 was None and is now 4"):
        refuse_changed(wanted, {P0: 3, P1: 4})
