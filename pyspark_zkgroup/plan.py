"""The plan of one micro-batch, which is Spark's offset: a public, versioned JSON format.

    {"version": 2, "protocol": "zookeeper", "group": "billing",
     "member": "billing_host-1795198465488-1cf4c010", "partitions":
     {"orders": {"0": {"from": 5, "until": 10, "thread": 1, "fence": "4294967312.3",
                       "epoch": 7, "topicId": "Yw1hPrQ2TDmM0gQsk4UoYQ"}}}}

`from` is the next record to read, `until` the first one that is left. `epoch` and `topicId` name
the log that the range is of: the leader epoch and the topic's id that came with the log's end.
Either is left out where the brokers do not tell; version 1 has neither. The plan holds every
partition the member held at that boundary, with an empty range where there was nothing to read: a
restart settles by it. Spark compares offsets as text, so encoding is deterministic; the start of a
new query is a plan without partitions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.model import NO_MARK, Fence, Mark, OffsetRange, ThreadId, TopicPartition

VERSION = 2

_REMEDY = (
    "Restore the checkpoint, or start the query with a new checkpointLocation: "
    "the group's committed offsets then decide where it begins"
)
_DECIMAL = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class PlannedRange:
    partition: TopicPartition
    range: OffsetRange
    thread: int
    fence: Fence
    mark: Mark = NO_MARK

    def __post_init__(self) -> None:
        if self.thread < 0 or not self.fence:
            raise ValueError(f"not a planned range: thread {self.thread}, fence {self.fence!r}")


@dataclass(frozen=True, slots=True)
class Plan:
    """The ranges of one batch, sorted by partition, each named once."""

    protocol: str
    group: str
    member: str
    ranges: tuple[PlannedRange, ...] = ()

    def __post_init__(self) -> None:
        partitions = [r.partition for r in self.ranges]
        if partitions != sorted(set(partitions)):
            raise ValueError("the ranges of a plan must be sorted and name each partition once")

    def thread_id(self, planned: PlannedRange) -> ThreadId:
        return ThreadId(self.member, planned.thread)

    @property
    def by_partition(self) -> dict[TopicPartition, PlannedRange]:
        return {r.partition: r for r in self.ranges}


@dataclass(frozen=True, slots=True)
class TaskRange:
    partition: TopicPartition
    range: OffsetRange
    mark: Mark = NO_MARK


@dataclass(frozen=True, slots=True)
class TaskInput:
    """What one Spark task reads: the non-empty ranges of one thread id. Nothing in it names
    ZooKeeper.
    """

    thread_id: str
    ranges: tuple[TaskRange, ...]


def task_inputs(plan: Plan, included: frozenset[TopicPartition]) -> list[TaskInput]:
    """One task per thread id that has something to read, in the order of thread numbers."""
    by_thread: dict[int, list[TaskRange]] = {}
    for planned in plan.ranges:
        if planned.partition in included and len(planned.range) > 0:
            by_thread.setdefault(planned.thread, []).append(
                TaskRange(planned.partition, planned.range, planned.mark)
            )
    return [
        TaskInput(str(ThreadId(plan.member, number)), tuple(by_thread[number]))
        for number in sorted(by_thread)
    ]


def encode(plan: Plan) -> dict[str, Any]:
    partitions: dict[str, dict[str, Any]] = {}
    for planned in plan.ranges:
        entry = {
            "from": planned.range.start,
            "until": planned.range.until,
            "thread": planned.thread,
            "fence": planned.fence,
        }
        if planned.mark.epoch >= 0:
            entry["epoch"] = planned.mark.epoch
        if planned.mark.topic_id:
            entry["topicId"] = planned.mark.topic_id
        partitions.setdefault(planned.partition.topic, {})[str(planned.partition.partition)] = entry
    return {
        "version": VERSION,
        "protocol": plan.protocol,
        "group": plan.group,
        "member": plan.member,
        "partitions": partitions,
    }


def decode(offset: Mapping[str, Any]) -> Plan:
    """The plan an offset of the checkpoint stands for; PlanError names what is wrong with it."""
    version = offset.get("version")
    if isinstance(version, bool) or not isinstance(version, int):
        raise PlanError.of("bad_version", version=version, remedy=_REMEDY)
    if version > VERSION:
        raise PlanError.of("newer_version", version=version, supported=VERSION)
    if version < 1:
        raise PlanError.of("other_version", version=version, supported=VERSION, remedy=_REMEDY)
    ranges: list[PlannedRange] = []
    topics = _expect(offset, "partitions", dict, "the plan")
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise PlanError.of("no_partitions", topic=topic, remedy=_REMEDY)
        for partition, entry in partitions.items():
            ranges.append(_decode_range(topic, partition, entry))
    ranges.sort(key=lambda r: r.partition)
    return Plan(
        protocol=_expect(offset, "protocol", str, "the plan"),
        group=_expect(offset, "group", str, "the plan"),
        member=_expect(offset, "member", str, "the plan"),
        ranges=tuple(ranges),
    )


def _decode_range(topic: str, partition: str, entry: Any) -> PlannedRange:
    where = f"{topic!r}, partition {partition!r}"
    if not isinstance(entry, dict) or not _DECIMAL.fullmatch(partition):
        raise PlanError.of("no_range", where=where, value=entry, remedy=_REMEDY)
    try:
        return PlannedRange(
            partition=TopicPartition(topic, int(partition)),
            range=OffsetRange(
                _expect(entry, "from", int, where), _expect(entry, "until", int, where)
            ),
            thread=_expect(entry, "thread", int, where),
            fence=Fence(_expect(entry, "fence", str, where)),
            mark=Mark(
                _expect(entry, "epoch", int, where, NO_MARK.epoch),
                _expect(entry, "topicId", str, where, NO_MARK.topic_id),
            ),
        )
    except ValueError as error:
        raise PlanError.of("damaged", where=where, error=error, remedy=_REMEDY) from None


def _expect(
    holder: Mapping[str, Any], key: str, kind: type, where: str, default: object = None
) -> Any:
    value = holder.get(key, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise PlanError.of(
            "bad_value", key=key, value=value, where=where, kind=kind.__name__, remedy=_REMEDY
        )
    return value
