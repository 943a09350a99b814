"""A planner whose group, brokers and driver do what a test says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.plan import Plan, PlannedRange, decode, encode
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.port import Position, Standing
from pyspark_zkgroup.ranges.gaps import Gap
from tests.fakes.brokers import FakeBrokers
from tests.fakes.still_clock import StillClock
from tests.harness.given_options import LEAST

P0, P1 = (TopicPartition("orders", n) for n in range(2))
Offset = dict[str, Any]


class Clock(StillClock):
    def event(self) -> Any:
        raise AssertionError("no test here waits for an event")


@dataclass
class Group:
    """A membership that holds what a test says, and notes what it was asked."""

    clock: StillClock
    positions: dict[TopicPartition, int]
    protocol: str = "zookeeper"
    member: str = "billing_m"
    proofs: list[bool] = field(default_factory=list)
    """What the next proofs find; then all stands."""
    at_proof: Callable[[], object] = lambda: None
    ended: str = ""
    settled: bool = True
    unsettled: bool = False
    is_sure: bool = True
    included: frozenset[TopicPartition] = frozenset([P0, P1])
    commits: list[dict[TopicPartition, int]] = field(default_factory=list)
    resumed: list[Plan] = field(default_factory=list)
    skipped: list[Gap] = field(default_factory=list)
    left: list[dict[TopicPartition, int]] = field(default_factory=list)
    losses: Losses = field(default_factory=lambda: Losses(str, fail=False))

    def resume(self, plan: Plan) -> None:
        self.resumed.append(plan)

    def replay(self, plan: Plan) -> frozenset[TopicPartition]:
        return self.included & {r.partition for r in plan.ranges}

    def stirred(self) -> bool:
        return True

    def boundary(self, done: Mapping[TopicPartition, int]) -> Standing:
        self.commits.append(dict(done))
        self.positions.update((p, at) for p, at in done.items() if p in self.positions)
        held = {p: Position(at, 0, Fence(f"f{p.partition}")) for p, at in self.positions.items()}
        return Standing(held, settled=self.settled, ended=self.ended)

    def prove(self) -> bool:
        proved = self.proofs.pop(0) if self.proofs else True
        if not proved:
            self.at_proof()
        return proved

    def touched(self) -> bool:
        return False

    def vouches(self) -> bool:
        return self.is_sure

    def skip(self, found: Collection[Gap]) -> None:
        self.skipped += found
        self.positions.update((gap.partition, gap.start) for gap in found)

    def give_up(self) -> int:
        return 0

    def subscribed(self) -> Collection[TopicPartition]:
        return [P0, P1]

    def wait(self, timeout_s: float) -> None:
        self.clock.now += timeout_s

    def leave(self, done: Mapping[TopicPartition, int]) -> None:
        self.left.append(dict(done))

    def status(self) -> dict[str, Any]:
        return {"member": self.member}


@dataclass
class Box:
    """What a driver asks by its drain box, and what it is answered."""

    asked: bool = False
    heeds: bool = False
    done: Offset | None = None
    said: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.said.append("open")

    def requested(self) -> bool:
        return self.asked

    def finished(self, end: Offset) -> bool:
        return end == self.done

    def acknowledge(self) -> None:
        self.said.append("drained")

    def settle(self, settled: bool) -> None:
        if settled:
            self.said.append("settled")

    def ask_driver(self, by: str) -> None:
        self.said.append(f"ended by {by}")
        self.asked = self.heeds

    def close(self) -> None:
        self.said.append("closed")


@dataclass
class Desk:
    """A planner of a member that holds two partitions, read up to 5 and 7 of 10."""

    planner: Planner
    group: Group
    brokers: FakeBrokers
    box: Box
    logged: list[Offset] = field(default_factory=list)

    def next(self, start: Offset | None, once: bool = False) -> Offset:
        return self.planner.latest_offset(start, once)

    def batch(self, start: Offset | None) -> Offset:
        """Planned, and its tasks given to Spark."""
        end = self.next(start)
        self.planner.partitions(start or self.planner.initial_offset(), end)
        return end


def desk(**options: str) -> Desk:
    clock, brokers, box = Clock(), FakeBrokers({"orders": 2}, end=10), Box()
    group = Group(clock, {P0: 5, P1: 7})
    logged: list[Offset] = []
    planner = Planner(
        parse({**LEAST, "checkpointLocation": "/ck", **options}),
        group,
        brokers,
        clock,  # type: ignore[arg-type]
        box,
        lambda _location, end: end in logged,
    )
    return Desk(planner, group, brokers, box, logged)


def ranges(offset: Offset) -> dict[TopicPartition, tuple[int, int]]:
    return {r.partition: (r.range.start, r.range.until) for r in decode(offset).ranges}


def plan(**changes: Any) -> Offset:
    read = (
        PlannedRange(P0, OffsetRange(3, 5), 0, Fence("f0")),
        PlannedRange(P1, OffsetRange(7, 7), 0, Fence("f1")),
    )
    return encode(
        Plan(
            **{
                "protocol": "zookeeper",
                "group": "billing",
                "member": "m",
                "ranges": read,
                **changes,
            }
        )
    )


def tasks(found: Iterable[Any]) -> dict[TopicPartition, tuple[int, int]]:
    return {r.partition: (r.range.start, r.range.until) for task in found for r in task.ranges}


def away(*_: object) -> Any:
    raise ServerError("No Kafka broker answered in time", "Check the brokers")
