"""Which offsets of the group a batch read begins at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.errors import BadZnodeError, ZkgroupError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.batch_read import (
    _committed,
    _lasting_ends,
    _ranges,
    _Seen,
    _tasks,
    _wanted,
)
from tests.fakes.brokers import FakeBrokers
from tests.harness.given_options import LEAST

P0 = TopicPartition("t", 0)
PARTITIONS = [TopicPartition("t", n) for n in range(4)]


def store_of(*values: bytes | None) -> Any:
    nodes = [None if v is None else SimpleNamespace(data=v, modified=50) for v in values]
    return cast(Any, SimpleNamespace(nodes=lambda _paths: nodes))


def test_an_absent_and_a_negative_offset_are_none() -> None:
    found = _committed(GroupPaths("g"), PARTITIONS, {}, store_of(b"0", b"7", b"-1", None))
    assert found.offsets == {PARTITIONS[0]: 0, PARTITIONS[1]: 7}
    assert found.anew == frozenset()


@pytest.mark.parametrize(("created", "of_another"), [(49, 0), (50, 0), (51, 1)])
def test_an_offset_from_before_its_topic_was_created_is_of_another_topic(
    created: int, of_another: int
) -> None:
    found = _committed(GroupPaths("g"), PARTITIONS[:1], {"t": created}, store_of(b"7"))
    assert len(found.anew) == of_another


def test_an_offset_node_that_is_no_number_is_named() -> None:
    with pytest.raises(BadZnodeError, match="/consumers/g/offsets/t/1"):
        _committed(GroupPaths("g"), PARTITIONS[:2], {}, store_of(b"7", b"seven"))


class Ends:
    """Brokers whose end of the log is the next of these, and a clock that sleeps at once."""

    def __init__(self, *ends: int) -> None:
        self.left = list(ends)
        self.now = 0.0

    def ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        end = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        return dict.fromkeys(partitions, end)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("committed", "ends", "expected", "patient"),
    [
        pytest.param(5, (9,), {}, False, id="not beyond"),
        pytest.param(10, (9, 12), {P0: 12}, True, id="an end that comes back"),
        pytest.param(10, (9,), {P0: 9}, True, id="an end that stays"),
    ],
)
def test_an_end_below_the_groups_offset_is_looked_at_again(
    committed: int, ends: tuple[int, ...], expected: dict[TopicPartition, int], patient: bool
) -> None:
    brokers = Ends(*ends)
    both: Any = brokers
    assert _lasting_ends({P0: committed}, {P0: 9}, both, both) == expected
    assert (brokers.now > 0) is patient


def test_a_named_topic_that_does_not_exist_is_an_error() -> None:
    options = parse({**LEAST, "subscribe": "a,b"})
    topics, partitions = _wanted(options, {"a": (0, 1), "b": (0,), "c": (0,)}, ())
    assert topics == {"a": (0, 1), "b": (0,)}
    assert len(partitions) == 3
    with pytest.raises(ZkgroupError, match="b"):
        _wanted(options, {"a": (0, 1)}, ())


def test_a_partition_with_nothing_to_read_has_no_task() -> None:
    options = parse({**LEAST, "subscribe": "t"})
    ranges = {P0: OffsetRange(5, 5), PARTITIONS[1]: OffsetRange(5, 6)}
    (task,) = _tasks(options, _Seen({"t": (0, 1)}, tuple(ranges), None), ranges)
    assert [one.partition for one in task.ranges] == [PARTITIONS[1]]
    assert _tasks(options, _Seen({"t": (0,)}, (P0,), None), {P0: OffsetRange(5, 5)}) == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"threads": "1"}, 1),
        ({"threads": "3"}, 3),
        ({"topic.threads": '{"t": 3, "u": 2}'}, 3),
        ({"topic.threads": '{"t": 2, "u": 3}'}, 3),
        ({"threads": "3", "minPartitions": "2"}, 3),
        ({"threads": "2", "minPartitions": "3"}, 3),
    ],
)
def test_as_many_tasks_as_threads_and_min_partitions_ask_for(
    options: dict[str, str], expected: int
) -> None:
    ranges = {P0: OffsetRange(0, 300)}
    tasks = _tasks(
        parse({**LEAST, "subscribe": "t,u"} | options), _Seen({"t": (0,)}, (P0,), None), ranges
    )
    assert len(tasks) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingOffsets": "earliest"}, (0, 100)),
        ({"startingTimestamp": "20"}, (20, 100)),
        ({"startingOffsets": "earliest", "endingTimestamp": "30"}, (0, 30)),
        ({"startingTimestamp": "20", "endingTimestamp": "30"}, (20, 30)),
    ],
)
def test_the_range_of_a_batch_read(options: dict[str, str], expected: tuple[int, int]) -> None:
    """Each record of these brokers has its offset as its time."""
    brokers, clock = FakeBrokers({"t": 1}), cast(Any, Ends(0))
    parsed = parse({**LEAST, "subscribe": "t", **options}, "batch")
    found = _ranges(parsed, _Seen({"t": (0,)}, (P0,), None), brokers, clock)
    assert found == {P0: OffsetRange(*expected)}
