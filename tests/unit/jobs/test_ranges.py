"""Steps cover a range, all of it and nothing twice; options mean it and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.jobs import ranges
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse

partitions = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 3))
spans = st.tuples(st.integers(0, 10**12), st.integers(0, 10**4)).map(
    lambda pair: OffsetRange(pair[0], pair[0] + pair[1])
)
# A loaded machine draws slowly.
patient = settings(suppress_health_check=[HealthCheck.too_slow])
several = st.dictionaries(partitions, spans)


@patient
@given(several, st.integers(1, 5000))
def test_steps_follow_each_other_from_start_to_end(
    wanted: dict[TopicPartition, OffsetRange], most: int
) -> None:
    steps = ranges.steps_for(wanted, most)
    reached = {p: r.start for p, r in wanted.items()}
    for number in range(steps):
        part = ranges.step(wanted, number, steps)
        # Each partition is rounded by itself.
        assert ranges.size(part) <= most + len(wanted)
        for p, r in part.items():
            assert r.start == reached[p]
            reached[p] = r.until
    assert reached == {p: r.until for p, r in wanted.items()}


@patient
@given(several)
def test_ranges_are_read_back_as_they_were_written(
    wanted: dict[TopicPartition, OffsetRange],
) -> None:
    assert ranges.read_back(ranges.written(wanted)) == wanted


@pytest.mark.parametrize("noted", [{"a": 1}, {"a": {"0": [1]}}, {"a": {"x": [1, 2]}}, {"a": None}])
def test_what_is_no_range_is_an_error(noted: dict[str, dict[str, list[int]]]) -> None:
    with pytest.raises(PlanError, match="is not a list of offset ranges"):
        ranges.read_back(noted)


def test_options_mean_the_ranges_whatever_was_asked_for_before() -> None:
    asked = {
        "zookeeper.connect": "z",
        "group.id": "g",
        "subscribePattern": "a.*",
        "startingTimestamp": "1",
        "startingOffsetsByTimestampStrategy": "latest",
        "endingOffsets": "latest",
        "kafka.isolation.level": "read_committed",
    }
    wanted = {
        TopicPartition("a", 10): OffsetRange(5, 9),
        TopicPartition("a", 2): OffsetRange(0, 1),
    }
    options = {**ranges.without_ranges(asked), **ranges.reading(wanted)}
    assert options == {
        "zookeeper.connect": "z",
        "kafka.isolation.level": "read_committed",
        "assign": '{"a": [2, 10]}',
        "startingOffsets": '{"a": {"2": 0, "10": 5}}',
        "endingOffsets": '{"a": {"2": 1, "10": 9}}',
    }
    assert parse(options, "batch").topics.assigned == tuple(sorted(wanted))
