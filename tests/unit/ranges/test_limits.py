"""The cases Spark's own Kafka source is tested with, and those it once got wrong."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import Sample, TopicPartition
from pyspark_zkgroup.ranges.limits import backlog, is_held_back, share, share_bytes

LONG_MAX = 2**63 - 1


def shared(limit: int | None, starts: list[int], ends: list[int]) -> list[int]:
    partitions = [TopicPartition("t", n) for n in range(len(starts))]
    found = share(limit, dict(zip(partitions, starts)), dict(zip(partitions, ends)))
    assert list(found) == partitions
    return list(found.values())


@pytest.mark.parametrize(
    ("limit", "starts", "ends", "until"),
    [
        pytest.param(None, [0, 3], [10, 7], [10, 7], id="no limit"),
        pytest.param(14, [0, 3], [10, 7], [10, 7], id="the whole backlog fits exactly"),
        pytest.param(10, [0, 0], [100, 100], [5, 5], id="equal backlogs"),
        pytest.param(10, [100, 50], [1100, 1050], [105, 55], id="counted from the start"),
        pytest.param(10, [0, 0, 0], [100, 10, 1], [9, 1, 1], id="small ones still move"),
        pytest.param(10, [0, 0], [997, 3], [9, 1], id="rounded down"),
        pytest.param(1, [0] * 5, [9] * 5, [1] * 5, id="one each beyond the limit"),
        pytest.param(10, [0, 5], [100, 5], [10, 5], id="an empty one takes nothing"),
        pytest.param(10, [5, 5], [5, 5], [5, 5], id="nothing at all to read"),
        pytest.param(10, [], [], [], id="nothing held"),
        pytest.param(20, [0, 0, 0], [21, 11, 1], [12, 6, 1], id="three of a size each"),
        pytest.param(10, [50, 0], [20, 100], [50, 10], id="an end below the start"),
        pytest.param(None, [50], [20], [50], id="also without a limit"),
        # A backlog times a limit is far above 64 bits, and above what a double tells apart.
        pytest.param(LONG_MAX, [0, 0], [LONG_MAX, LONG_MAX], [2**62 - 1] * 2, id="no overflow"),
        pytest.param(LONG_MAX - 1, [0], [LONG_MAX], [LONG_MAX - 1], id="no loss of precision"),
        pytest.param(
            3, [LONG_MAX - 5, 0], [LONG_MAX, 5], [LONG_MAX - 4, 1], id="near the last offset"
        ),
    ],
)
def test_until(limit: int | None, starts: list[int], ends: list[int], until: list[int]) -> None:
    assert shared(limit, starts, ends) == until


def test_a_partition_without_a_known_end_does_not_advance() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share(10, {a: 3, b: 4}, {b: 5}) == {a: 3, b: 5}
    assert share(None, {a: 3, b: 4}, {b: 5}) == {a: 3, b: 5}


def test_what_is_not_held_is_left_out() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share(10, {a: 0}, {a: 100, b: 10**6}) == {a: 10}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_must_let_something_through(limit: int) -> None:
    with pytest.raises(ValueError, match="would never read anything"):
        shared(limit, [0], [1])


def shared_bytes(
    limit: int | None, backlogs: list[int], samples: list[Sample | None]
) -> tuple[list[int], int]:
    """Offsets taken of each, and the bytes they have by the samples."""
    partitions = [TopicPartition("t", n) for n in range(len(backlogs))]
    starts = dict.fromkeys(partitions, 1000)
    ends = {p: 1000 + size for p, size in zip(partitions, backlogs)}
    known = {p: sample for p, sample in zip(partitions, samples) if sample is not None}
    found = share_bytes(limit, starts, ends, known)
    assert list(found) == partitions
    taken = {p: until - 1000 for p, until in found.items()}
    size = sum(taken[p] * sample.size_bytes // sample.offsets for p, sample in known.items())
    return list(taken.values()), size


SMALL, LARGE = Sample(100, 10_000), Sample(3, 30_000)


@pytest.mark.parametrize(
    ("limit", "backlogs", "samples", "taken"),
    [
        pytest.param(None, [9, 9], [SMALL, None], [9, 9], id="no limit"),
        pytest.param(1_900, [9, 10], [SMALL, SMALL], [9, 10], id="everything fits exactly"),
        pytest.param(1_800, [9, 10], [SMALL, SMALL], [8, 9], id="it just does not"),
        pytest.param(10_000, [1000], [SMALL], [100], id="one partition"),
        pytest.param(10_000, [1000, 10], [SMALL, LARGE], [50, 1], id="large and small records"),
        pytest.param(100_000, [1000, 10], [SMALL, LARGE], [500, 5], id="the same part of each"),
        pytest.param(1, [10, 10], [SMALL, LARGE], [1, 1], id="one each beyond the limit"),
        pytest.param(10_000, [1000, 500], [SMALL, None], [100, 1], id="one that is not known"),
        pytest.param(10_000, [500, 500], [None, None], [1, 1], id="none is known"),
        pytest.param(10_000, [0, 500], [LARGE, SMALL], [0, 100], id="nothing to read in one"),
        pytest.param(10, [0, 0], [None, SMALL], [0, 0], id="nothing at all to read"),
        pytest.param(10, [10**9], [Sample(10**9, 1)], [10**9], id="compacted away"),
        # Far above 64 bits.
        pytest.param(2**62, [2**62], [Sample(1, 2**20)], [2**42], id="no loss of precision"),
    ],
)
def test_bytes(
    limit: int | None, backlogs: list[int], samples: list[Sample | None], taken: list[int]
) -> None:
    found, _ = shared_bytes(limit, backlogs, samples)
    assert found == taken


def test_what_is_over_the_bytes_is_what_had_to_move() -> None:
    _, size = shared_bytes(10_000, [1000, 10], [SMALL, LARGE])
    assert size == 5_000 + 10_000


def test_a_sample_of_what_is_not_held_counts_for_nothing() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share_bytes(500, {a: 0}, {a: 10, b: 10**9}, {a: SMALL, b: LARGE}) == {a: 5}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_bytes_must_let_something_through(limit: int) -> None:
    with pytest.raises(ValueError, match="bytes would never read anything"):
        shared_bytes(limit, [1], [SMALL])


@pytest.mark.parametrize(
    ("offsets", "least", "since_s", "held_back"),
    [
        pytest.param(0, None, 1.0, False, id="nothing is asked for"),
        pytest.param(14, 15, None, False, id="the first batch"),
        pytest.param(14, 15, 1.0, True, id="too few"),
        pytest.param(15, 15, 1.0, False, id="enough"),
        pytest.param(14, 15, 4.9, True, id="not long enough"),
        pytest.param(14, 15, 5.0, False, id="long enough"),
        pytest.param(0, 15, 0.0, True, id="nothing there"),
    ],
)
def test_a_batch_is_held_back(
    offsets: int, least: int | None, since_s: float | None, held_back: bool
) -> None:
    assert is_held_back(offsets, least, since_last_s=since_s, delay_max_s=5.0) == held_back


def test_the_backlog_of_what_is_held() -> None:
    a, b, c = (TopicPartition("t", n) for n in range(3))
    assert backlog({a: 5, b: 5}, {a: 7, b: 2, c: 100}) == {a: 2, b: 0}
