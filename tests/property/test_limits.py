from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.model import Sample, TopicPartition
from pyspark_zkgroup.ranges.limits import share, share_bytes

LONG_MAX = 2**63 - 1

offsets = st.one_of(st.integers(0, 50), st.integers(0, LONG_MAX))
partitions = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 9))
starts = st.dictionaries(partitions, offsets)
ends = st.dictionaries(partitions, offsets)
limits = st.one_of(st.integers(1, 50), st.integers(1, LONG_MAX))


@given(limits, starts, ends)
def test_each_gets_its_part_of_the_backlog(
    limit: int, start: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> None:
    until = share(limit, start, end)
    assert until.keys() == start.keys()
    backlog = {p: max(0, end.get(p, at) - at) for p, at in start.items()}
    taken = {p: until[p] - start[p] for p in start}
    total = sum(backlog.values())
    raised = 0
    for p, size in backlog.items():
        assert 0 <= taken[p] <= size
        assert (taken[p] > 0) == (size > 0)
        part = Fraction(min(limit, total) * size, total) if total else Fraction(0)
        if part < 1:
            raised += taken[p]
        else:
            assert part - 1 < taken[p] <= part
    assert sum(taken.values()) <= limit + raised


@given(starts, ends)
def test_without_a_limit_everything_goes(
    start: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> None:
    assert share(None, start, end) == {p: max(at, end.get(p, at)) for p, at in start.items()}


@given(limits, starts, ends)
def test_the_order_of_the_partitions_does_not_matter(
    limit: int, start: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> None:
    backwards = dict(reversed(start.items()))
    assert share(limit, backwards, dict(reversed(end.items()))) == share(limit, start, end)


@given(st.integers(1, 50), st.dictionaries(partitions, st.integers(0, 1000)))
def test_a_backlog_is_used_up_at_last(limit: int, end: dict[TopicPartition, int]) -> None:
    at = dict.fromkeys(end, 0)
    for _ in range(sum(end.values())):
        if at == end:
            break
        moved = share(limit, at, end)
        assert moved != at
        at = moved
    assert at == end


samples = st.dictionaries(
    partitions, st.builds(Sample, st.integers(1, 1000), st.integers(1, 10**7))
)


@given(limits, starts, ends, samples)
def test_bytes_are_shared_alike_and_nothing_starves(
    limit: int,
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    sample: dict[TopicPartition, Sample],
) -> None:
    until = share_bytes(limit, start, end, sample)
    assert until.keys() == start.keys()
    size = Fraction(0)
    for p, at in start.items():
        waiting = max(0, end.get(p, at) - at)
        taken = until[p] - at
        assert 0 <= taken <= waiting
        assert (taken > 0) == (waiting > 0)
        if p not in sample:
            assert taken <= 1
        elif taken > 1:
            size += Fraction(taken * sample[p].size_bytes, sample[p].offsets)
    assert size <= limit


@given(starts, ends, samples)
def test_a_backlog_that_fits_is_taken_whole(
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    sample: dict[TopicPartition, Sample],
) -> None:
    known = {p: at for p, at in start.items() if p in sample}
    enough = sum(
        -(-(max(at, end.get(p, at)) - at) * sample[p].size_bytes // sample[p].offsets)
        for p, at in known.items()
    )
    if enough:
        assert share_bytes(enough, known, end, sample) == share(None, known, end)


@given(limits, limits, starts, ends, samples)
def test_both_limits_hold(
    offsets: int,
    size: int,
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    sample: dict[TopicPartition, Sample],
) -> None:
    within = share(offsets, start, end)
    until = share_bytes(size, start, within, sample)
    assert all(until[p] <= within[p] for p in start)
    assert all((until[p] > at) == (within[p] > at) for p, at in start.items())


@given(st.integers(1, 5000), st.dictionaries(partitions, st.integers(0, 200)), samples)
def test_a_backlog_is_used_up_at_last_in_bytes_too(
    limit: int, end: dict[TopicPartition, int], sample: dict[TopicPartition, Sample]
) -> None:
    at = dict.fromkeys(end, 0)
    for _ in range(sum(end.values())):
        if at == end:
            break
        moved = share_bytes(limit, at, end, sample)
        assert moved != at
        at = moved
    assert at == end
