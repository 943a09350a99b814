from __future__ import annotations

import struct

import pytest

from pyspark_zkgroup.kafka.framing import Frames, FramingError, frames
from tests.harness.record_batches import CONTROL_BIT, GZIP, Record, batch, old_messages

FIRST = batch([Record(10), Record(11), Record(12)])
SECOND = batch([Record(20)], last_offset=29)  # its tail was compacted away
BOTH = FIRST + SECOND


@pytest.mark.parametrize(
    ("position", "until", "found"),
    [
        (10, 100, Frames(len(BOTH), 30)),
        (11, 100, Frames(len(BOTH), 30)),
        (10, 30, Frames(len(BOTH), 30)),
        (10, 25, Frames(len(BOTH), 30)),
        (10, 20, Frames(len(FIRST), 20)),
        (10, 15, Frames(len(FIRST), 15)),
        (10, 13, Frames(len(FIRST), 13)),
        (10, 12, Frames(len(FIRST), 13)),
    ],
)
def test_whole_batches_up_to_the_end_of_the_range(position: int, until: int, found: Frames) -> None:
    assert frames(BOTH, position, until) == found


def test_a_range_whose_records_are_all_gone_ends_at_the_batch_behind_it() -> None:
    assert frames(SECOND, 13, 18) == Frames(0, 18)


@pytest.mark.parametrize("cut", [1, 16, 17, 30, len(SECOND) - 1])
def test_a_batch_that_is_cut_short_is_left_for_the_next_fetch(cut: int) -> None:
    assert frames(FIRST + SECOND[:cut], 10, 100) == Frames(len(FIRST), 13)
    assert frames(FIRST[:cut], 10, 100) == Frames(0, 10)


def test_markers_and_emptied_batches_move_the_position() -> None:
    marker = batch([Record(10, b"\0\0\0\1", b"")], attributes=CONTROL_BIT)
    emptied = batch([], base_offset=11, last_offset=40)
    assert frames(marker + emptied, 10, 100) == Frames(len(marker + emptied), 41)


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_set_ends_where_its_outer_messages_end(magic: int) -> None:
    data = old_messages([Record(5), Record(7)], magic=magic, codec=GZIP)
    data += old_messages([Record(8), Record(9)], magic=magic)
    assert frames(data, 5, 100) == Frames(len(data), 10)


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_set_that_crosses_the_end_of_the_range_is_wanted(magic: int) -> None:
    """Seen from outside it has only the offset of its last record, which is behind the range."""
    packed = old_messages([Record(5), Record(6), Record(90)], magic=magic, codec=GZIP)
    assert frames(packed, 5, 7) == Frames(len(packed), 91)
    plain = old_messages([Record(5), Record(90)], magic=magic)
    assert frames(plain, 5, 7) == Frames(len(plain) // 2, 7)


def test_records_before_the_position_do_not_move_it_back() -> None:
    assert frames(FIRST, 40, 100) == Frames(len(FIRST), 40)


@pytest.mark.parametrize(
    ("at", "value", "match"),
    [
        (16, b"\x03", "unknown format 3"),
        (16, b"\xff", "unknown format -1"),
        (8, struct.pack(">i", -20), "length -20"),
        (8, struct.pack(">i", 48), "length 48"),
        (0, struct.pack(">q", -1), "offset -1"),
        (23, struct.pack(">i", -1), "ends before it begins"),
    ],
)
def test_heads_that_cannot_be_are_errors(at: int, value: bytes, match: str) -> None:
    data = bytearray(BOTH)
    data[at : at + len(value)] = value
    with pytest.raises(FramingError, match=match):
        frames(bytes(data), 10, 100)
