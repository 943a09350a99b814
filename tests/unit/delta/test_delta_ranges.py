"""What a batch may hold, as boxes: they cover every range, and are few and tight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.delta.ranges import BOXES_PER_TOPIC_MAX, Box, boxes
from pyspark_zkgroup.model import OffsetRange, TopicPartition


def ranges(**spans: tuple[int, int]) -> dict[TopicPartition, OffsetRange]:
    """p3=(5, 9) is partition 3 of topic t."""
    return {TopicPartition("t", int(p[1:])): OffsetRange(*span) for p, span in spans.items()}


@pytest.mark.parametrize(
    ("given_ranges", "expected"),
    [
        ({}, ()),
        (ranges(p0=(5, 5)), ()),
        (ranges(p0=(5, 9)), (Box("t", (0,), 5, 8),)),
        (ranges(p0=(5, 9), p1=(6, 12)), (Box("t", (0, 1), 5, 11),)),
        (ranges(p0=(5, 9), p1=(9, 12)), (Box("t", (0,), 5, 8), Box("t", (1,), 9, 11))),
        (
            ranges(p2=(0, 100), p1=(10, 20), p0=(90, 95), p7=(1000, 1001)),
            (Box("t", (0, 1, 2), 0, 99), Box("t", (7,), 1000, 1000)),
        ),
        (
            {
                TopicPartition("u", 0): OffsetRange(0, 1),
                TopicPartition("t", 0): OffsetRange(0, 1),
            },
            (Box("t", (0,), 0, 0), Box("u", (0,), 0, 0)),
        ),
    ],
)
def test_ranges_that_overlap_share_a_box(
    given_ranges: dict[TopicPartition, OffsetRange], expected: tuple[Box, ...]
) -> None:
    assert boxes(given_ranges) == expected


@given(
    st.dictionaries(
        st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.integers(0, 60)),
        st.tuples(st.integers(0, 500), st.integers(0, 30)).map(
            lambda s: OffsetRange(s[0], s[0] + s[1])
        ),
        max_size=80,
    )
)
def test_every_range_lies_in_one_box_and_boxes_are_few(
    given_ranges: dict[TopicPartition, OffsetRange],
) -> None:
    made = boxes(given_ranges)
    for of, r in given_ranges.items():
        around = [b for b in made if b.topic == of.topic and of.partition in b.partitions]
        if len(r) == 0:
            assert around == []
            continue
        (box,) = around
        assert box.lowest <= r.start
        assert r.until <= box.highest + 1
    for topic in ("t", "u"):
        assert len([b for b in made if b.topic == topic]) <= BOXES_PER_TOPIC_MAX
